package org.horovod4j.launcher;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.driver.Driver;
import org.horovod4j.launcher.driver.FixedDriver;
import org.horovod4j.launcher.driver.Worker;
import org.horovod4j.launcher.output.OutputTargets;
import org.horovod4j.launcher.output.StartupProgress;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.HostPlan;
import org.horovod4j.launcher.plan.Slot;
import org.horovod4j.option.Environment;
import org.horovod4j.option.Options;
import org.horovod4j.rendezvous.MembershipListener;
import org.horovod4j.rendezvous.RendezvousServer;
import org.horovod4j.text.MessageText;

import java.io.IOException;
import java.util.List;
import java.util.Map;

/// Launches a job whose ranks do not change: all hosts are made ready first, then all ranks start.
final class FixedLaunch extends JobLaunch {
    /// Learns how the process of each rank ended, before the other ranks do.
    interface ExitListener {
        void exited(int rank, String how);
    }

    private HostPlan plan;
    private final ExitListener exitListener;

    /// @throws org.horovod4j.ConfigurationException when the hosts have too few slots
    FixedLaunch(LaunchContext context, ExitListener exitListener) {
        super(context);
        this.plan = HostPlan.of(context.launch().hosts(), context.launch().processes());
        this.exitListener = exitListener;
    }

    /// Runs the job to its end.
    ///
    /// @return the exit code of the launcher
    int run(TerminationSignals.Cancellation cancellation) throws IOException, InterruptedException {
        try (Hosts hosts = context.newHosts(cancellation.whileStarting())) {
            List<Host> used = HostPlan.usedHosts(context.launch().hosts(), plan.slots().size());
            hosts.addAll(used, context.launcherConsole());
            if (used.size() > 1) { // two of them may be names of one machine
                plan = plan.countedBy(hosts::machine);
            }
            checkGpus(hosts);
            try (OutputTargets outputTargets =
                    OutputTargets.ofRanks(
                            context.launcherConsole(),
                            context.launch().outputSettings().folder(),
                            context.launch().outputSettings().timestamps(),
                            plan.slots().size())) {
                AsyncValue<TerminationSignals> signals = AsyncValue.of(cancellation.signals());
                explain(hosts.routes());
                return runCommands(hosts, outputTargets, signals);
            }
        }
    }

    /// @throws ConfigurationException when a host has too few GPUs
    private void checkGpus(Hosts hosts) {
        GpuAssignment assignment = context.gpuAssignment(hosts);
        for (Slot slot : plan.slots()) {
            if (slot.localRank() == 0) {
                assignment.check(slot.host(), slot.localSize());
                checkDemand(slot, hosts);
            }
        }
    }

    /// GPUs of other makers are not counted.
    private void checkDemand(Slot slot, Hosts hosts) {
        int needed = context.launch().gpuDemand().of(slot.localSize());
        int found = hosts.gpus(slot.host());
        boolean mayShare =
                new Environment(context.launch().mergedWith(context.environment()))
                        .get(Options.SHARE_GPUS);
        if (found < needed && !mayShare) {
            throw new ConfigurationException(
                    """
                    %s has %s, but the job file asks for %d there (resources.gpus).
                    Lower resources.gpus, or use other hosts. With --share-gpus, ranks share the GPUs that \
                    there are."""
                            .formatted(
                                    slot.host(), MessageText.count(found, "NVIDIA GPU"), needed));
        }
    }

    @Override
    Driver newDriver() {
        return new FixedDriver(plan);
    }

    @Override
    void serve(Job job, int command, Hosts hosts, AsyncValue<TerminationSignals> signals)
            throws InterruptedException {
        boolean anyRemote = hosts.anyRemote();
        try (StartupProgress startupProgress =
                        StartupProgress.show(context.launcherConsole(), hostNames());
                RendezvousServer rendezvous =
                        RendezvousServer.start(
                                context.settings().secret(),
                                plan.slots().size(),
                                LaunchContext.bindAddresses(context.settings(), anyRemote),
                                context.settings().heartbeatTimeout(),
                                context.settings().startTimeout(),
                                membershipListener(startupProgress, job))) {
            JobVariables variables =
                    context.variables(rendezvous.address().getPort(), anyRemote, hosts);
            int localRanks =
                    (int) hostNames().stream().filter(host -> !hosts.isRemote(host)).count();
            hosts.prepare(command, localRanks, signals.get().firstSignal());
            signals.get().forwardTo(job::interrupt);
            explain(hosts.commandLines(command));
            explain(
                    plan.slots().stream()
                            .filter(slot -> slot.localRank() == 0)
                            .map(
                                    slot ->
                                            variables
                                                    .threads()
                                                    .description(slot.host(), slot.localSize()))
                            .toList());
            job.run(new FixedServices(rendezvous, variables));
        }
    }

    private void explain(List<String> steps) {
        if (context.verbose()) {
            steps.forEach(context.launcherConsole()::printMessage);
        }
    }

    /// The host of each rank.
    private List<String> hostNames() {
        return plan.slots().stream().map(Slot::host).toList();
    }

    private static MembershipListener membershipListener(StartupProgress startupProgress, Job job) {
        return new MembershipListener() {
            @Override
            public void joined(int rank) {
                startupProgress.joined(rank);
            }

            @Override
            public void failed(int rank, String reason) {
                job.failureReported(rank, reason);
            }

            @Override
            public void missed(int rank, String reason) {
                job.rankMissed(rank, reason);
            }
        };
    }

    private final class FixedServices implements WorkerServices {
        private final RendezvousServer rendezvous;
        private final JobVariables variables;

        FixedServices(RendezvousServer rendezvous, JobVariables variables) {
            this.rendezvous = rendezvous;
            this.variables = variables;
        }

        @Override
        public Map<String, String> variables(Worker worker, boolean remote) {
            return variables.of(plan.slots().get(worker.number()), remote);
        }

        @Override
        public void reportExit(Worker worker, String how) {
            exitListener.exited(worker.number(), how);
            rendezvous.reportExit(worker.number(), how);
        }

        @Override
        public void reportLoss(Worker worker, String how) {
            exitListener.exited(worker.number(), how);
            rendezvous.reportLoss(worker.number(), how);
        }

        @Override
        public void jobIsEnding() {
            rendezvous.jobIsEnding();
        }
    }
}

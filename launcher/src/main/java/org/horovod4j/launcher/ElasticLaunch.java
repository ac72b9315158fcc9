package org.horovod4j.launcher;

import org.horovod4j.ConfigurationException;
import org.horovod4j.elastic.registry.WorkerPlacement;
import org.horovod4j.elastic.registry.WorkerRegistry;
import org.horovod4j.launcher.command.Invocation.Elasticity;
import org.horovod4j.launcher.driver.DiscoveryException;
import org.horovod4j.launcher.driver.DiscoveryScript;
import org.horovod4j.launcher.driver.DiscoveryWatch;
import org.horovod4j.launcher.driver.Driver;
import org.horovod4j.launcher.driver.ElasticDriver;
import org.horovod4j.launcher.driver.Worker;
import org.horovod4j.launcher.output.OutputTargets;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.JobSettings;
import org.horovod4j.launcher.plan.Slot;
import org.horovod4j.launcher.process.LocalHost;
import org.horovod4j.option.Options;
import org.horovod4j.rendezvous.MembershipListener;
import org.horovod4j.rendezvous.RendezvousServer;
import org.horovod4j.text.MessageText;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/// Launches a job whose workers come and go: hosts are made ready when the driver asks for them.
final class ElasticLaunch extends JobLaunch {
    private static final Duration DISCOVERY_INTERVAL = Duration.ofSeconds(1);

    private final Elasticity elasticity;

    /// The slots of each host that was ever found.
    private final Map<String, Integer> slots = new ConcurrentHashMap<>();

    /// Whether any worker may run on another host. A script may name one later.
    private final boolean mayBeRemote;

    ElasticLaunch(LaunchContext context, Elasticity elasticity) {
        super(context);
        this.elasticity = elasticity;
        this.mayBeRemote =
                elasticity.script() != null
                        || !context.launch().hosts().stream()
                                .map(Host::name)
                                .allMatch(LocalHost::isNamed);
    }

    /// Runs the job to its end.
    ///
    /// @return the exit code of the launcher
    int run(Callable<TerminationSignals> install) throws IOException, InterruptedException {
        AsyncValue<TerminationSignals> signals = AsyncValue.of(install);
        try (OutputTargets outputTargets =
                        OutputTargets.ofWorkers(
                                context.launcherConsole(),
                                context.launch().outputSettings().folder(),
                                context.launch().outputSettings().timestamps());
                Hosts hosts = context.newHosts(new CompletableFuture<>())) {
            var _ = hosts.openLocal(); // before the discovery script, which it ends
            if (elasticity.script() == null
                    && context.launch().hosts().stream()
                            .map(Host::name)
                            .anyMatch(LocalHost::isNamed)) {
                var _ = hosts.localPrograms(); // throws when a command cannot be found
            }
            return runCommands(hosts, outputTargets, signals);
        }
    }

    @Override
    Driver newDriver() {
        return new ElasticDriver(
                elasticity.elasticLimits(),
                context.settings().elasticTimeout(),
                elasticity.cooldown());
    }

    @Override
    void serve(Job job, int command, Hosts hosts, AsyncValue<TerminationSignals> signals)
            throws InterruptedException {
        signals.get().forwardTo(job::interrupt);
        if (elasticity.script() == null) {
            found(context.launch().hosts(), job);
            serve(job, hosts);
        } else {
            serve(job, elasticity.script(), hosts, signals.get());
        }
    }

    private void found(List<Host> hosts, Job job) {
        hosts.forEach(host -> slots.put(host.name(), host.slots()));
        job.found(hosts);
    }

    /// With hosts that a script finds. A signal also ends the wait for the first of them.
    private void serve(Job job, String script, Hosts hosts, TerminationSignals terminationSignals)
            throws InterruptedException {
        DiscoveryScript discovery =
                new DiscoveryScript(
                        script,
                        elasticity.slotsPerHost(),
                        elasticity.login(),
                        Map.of(Options.JOB_ID.variable(), context.settings().id()),
                        DiscoveryScript.TIMEOUT);
        try (DiscoveryWatch watch =
                new DiscoveryWatch(
                        discovery,
                        DISCOVERY_INTERVAL,
                        found -> found(found, job),
                        context.launcherConsole()::printMessage)) {
            watch.start(terminationSignals.firstSignal());
            serve(job, hosts);
        } catch (DiscoveryException e) {
            throw new ConfigurationException(
                    "--host-discovery-script: '%s' found no hosts: %s It must print lines such as gpu1:4."
                            .formatted(
                                    script, MessageText.sentence(String.valueOf(e.getMessage()))),
                    e);
        }
    }

    private void serve(Job job, Hosts hosts) throws InterruptedException {
        JobSettings settings = context.settings();
        List<InetSocketAddress> binds = LaunchContext.bindAddresses(settings, mayBeRemote);
        try (RendezvousServer rendezvous =
                        RendezvousServer.startElastic(
                                settings.secret(),
                                binds,
                                settings.heartbeatTimeout(),
                                settings.startTimeout(),
                                MembershipListener.NONE);
                WorkerRegistry registry =
                        WorkerRegistry.open(
                                settings.secret(), binds, settings.heartbeatTimeout(), job)) {
            job.run(
                    new ElasticServices(
                            rendezvous,
                            registry,
                            context.variables(rendezvous.address().getPort(), mayBeRemote, hosts)));
        }
    }

    private final class ElasticServices implements WorkerServices {
        private final RendezvousServer rendezvous;
        private final WorkerRegistry registry;
        private final JobVariables variables;
        private final Map<Worker, Integer> ranks = new HashMap<>();
        private final Set<String> described = ConcurrentHashMap.newKeySet();
        private int generation;
        private long hostsVersion;

        ElasticServices(
                RendezvousServer rendezvous, WorkerRegistry registry, JobVariables variables) {
            this.rendezvous = rendezvous;
            this.registry = registry;
            this.variables = variables;
        }

        @Override
        public Map<String, String> variables(Worker worker, boolean remote) {
            int ranks =
                    Math.min(
                            slots.getOrDefault(worker.host(), 1),
                            elasticity.elasticLimits().maxWorkers());
            if (context.verbose() && described.add(worker.host())) {
                context.launcherConsole()
                        .printMessage(variables.threads().description(worker.host(), ranks));
            }
            return variables.of(worker, registry.address().getPort(), ranks, remote);
        }

        @Override
        public void reportExit(Worker worker, String how) {
            Integer rank = ranks.get(worker);
            if (rank != null) {
                rendezvous.reportExit(generation, rank, how);
            }
        }

        @Override
        public void reportLoss(Worker worker, String how) {
            Integer rank = ranks.get(worker);
            if (rank != null) {
                rendezvous.reportLoss(generation, rank, how);
            }
        }

        @Override
        public void jobIsEnding() {
            rendezvous.jobIsEnding();
        }

        @Override
        public void startGeneration(int number, SequencedMap<Worker, Slot> slots, boolean sync) {
            generation = number;
            ranks.clear();
            rendezvous.beginGeneration(number, slots.size());
            slots.forEach(
                    (worker, slot) -> {
                        ranks.put(worker, slot.rank());
                        registry.assign(worker.number(), placement(number, slot, sync));
                    });
        }

        private static WorkerPlacement placement(int generation, Slot slot, boolean sync) {
            return new WorkerPlacement(
                    generation,
                    slot.rank(),
                    slot.size(),
                    slot.localRank(),
                    slot.localSize(),
                    slot.crossRank(),
                    slot.crossSize(),
                    sync);
        }

        @Override
        public void requestReset() {
            registry.hostsUpdated(++hostsVersion);
        }

        @Override
        public void dismiss(Worker worker, String reason) {
            registry.dismiss(worker.number(), reason);
        }
    }
}

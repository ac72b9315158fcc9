package org.horovod4j.launcher;

import org.horovod4j.launcher.output.FailureReport;
import org.horovod4j.launcher.output.LauncherConsole;
import org.horovod4j.launcher.output.OutputTargets;
import org.horovod4j.launcher.plan.HostPlan;
import org.horovod4j.launcher.plan.Slot;
import org.horovod4j.launcher.process.ExitStatus;
import org.horovod4j.launcher.process.HostAgent;
import org.horovod4j.launcher.process.Program;
import org.horovod4j.launcher.process.Signal;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/// The processes of a job, from their start until none is left: those of one command after those of
/// another, if there are several.
///
/// Whatever happens arrives as an [Event] in one queue, and the thread in [#await] alone acts on
/// it.
final class Job {
    /// Hears what became of ranks: others may still wait for them.
    interface ExitListener {
        /// The process of a rank has ended, well or badly.
        void exited(int rank, String how);

        /// Nobody knows any more what its process does.
        default void lost(int rank, String how) {
            exited(rank, how);
        }

        /// One that tells this one, and then the other.
        default ExitListener before(ExitListener other) {
            return new ExitListener() {
                @Override
                public void exited(int rank, String how) {
                    ExitListener.this.exited(rank, how);
                    other.exited(rank, how);
                }

                @Override
                public void lost(int rank, String how) {
                    ExitListener.this.lost(rank, how);
                    other.lost(rank, how);
                }
            };
        }
    }

    private sealed interface Event {}

    private record Exited(RankProcess rank, ExitStatus exitStatus) implements Event {}

    private record HostLost(String host, String reason) implements Event {}

    private record Blamed(int rank, String reason) implements Event {}

    private record Interrupted(Signal signal) implements Event {}

    private record Failure(RankProcess rank, String how) {}

    private final HostPlan plan;
    private final Hosts hosts;
    private final OutputTargets outputTargets;
    private final LauncherConsole launcherConsole;
    private final boolean verbose;
    private final TerminationSequence terminationSequence;
    private final BlockingQueue<Event> events = new LinkedBlockingQueue<>();
    private final Map<Integer, RankProcess> ranks = new TreeMap<>();
    private final Set<RankProcess> running = new LinkedHashSet<>();
    private Duration took = Duration.ZERO;
    private final Map<RankProcess, ExitStatus> endings = new HashMap<>();
    private @Nullable Blamed blamed;
    private @Nullable Failure firstFailure;
    private @Nullable Signal interruption;

    Job(HostPlan plan, Hosts hosts, OutputTargets outputTargets, boolean verbose) {
        this.plan = plan;
        this.hosts = hosts;
        this.outputTargets = outputTargets;
        this.launcherConsole = outputTargets.launcherConsole();
        this.verbose = verbose;
        this.terminationSequence = new TerminationSequence(hosts::signal);
        hosts.routes().forEach(this::explain);
        for (String name : hosts.names()) {
            hosts.agent(name).onLoss(reason -> events.add(new HostLost(name, reason)));
        }
    }

    /// Starts every rank of the plan; those of one host one after the other, since a start takes
    /// 2 ms and several at a time measured no faster there.
    ///
    /// @param command the number of the command that they run
    /// @throws IOException when one cannot be started; those that were are gone by then
    void start(int command, JobVariables variables) throws IOException, InterruptedException {
        awaitOutput(); // of the command before
        explainCommand(command);
        ranks.clear();
        endings.clear();
        blamed = null;
        try {
            for (List<RankProcess> started :
                    ParallelTasks.map(byHost(), slots -> start(slots, command, variables))) {
                started.forEach(rank -> ranks.put(rank.rank(), rank));
            }
        } catch (IOException e) {
            hosts.signal(Signal.KILL);
            List<String> _ = hosts.sweep(); // returns when nothing of the job is left
            throw e;
        }
        running.addAll(ranks.values());
    }

    private List<RankProcess> start(List<Slot> slots, int command, JobVariables variables)
            throws IOException {
        List<RankProcess> started = new ArrayList<>();
        for (Slot slot : slots) {
            Program program = hosts.program(slot.host(), command);
            HostAgent agent = hosts.agent(slot.host());
            Process process =
                    agent.start(
                            program.command(slot.rank()),
                            variables.of(slot, hosts.isRemote(slot.host())));
            RankProcess rank =
                    new RankProcess(slot, agent, process, outputTargets, program.unwantedLine());
            started.add(rank);
            var _ =
                    process.onExit()
                            .thenAccept(
                                    it ->
                                            events.add(
                                                    new Exited(
                                                            rank, new ExitStatus(it.exitValue()))));
            explain("started " + rank);
        }
        return started;
    }

    private List<List<Slot>> byHost() {
        return List.copyOf(
                plan.slots().stream()
                        .collect(
                                Collectors.groupingBy(
                                        Slot::host, LinkedHashMap::new, Collectors.toList()))
                        .values());
    }

    /// Passes a signal of the launcher's own on to the job. May be called from any thread.
    void interrupt(Signal signal) {
        events.add(new Interrupted(signal));
    }

    /// Tells which rank has failed first as far as the ranks know. Its process may take longer to end
    /// than those which cannot go on without it. May be called from any thread.
    void blame(int rank, String reason) {
        events.add(new Blamed(rank, reason));
    }

    /// Waits for the end of all ranks, and ends them all once one has failed.
    ///
    /// @return whether all went well
    boolean await(ExitListener listener) throws InterruptedException {
        while (!running.isEmpty() && !terminationSequence.hasGivenUp()) {
            switch (events.poll(terminationSequence.timeLeft().toNanos(), TimeUnit.NANOSECONDS)) {
                case Exited exited -> exited(exited, listener);
                case HostLost lost -> lost(lost, listener);
                case Blamed told -> blamed = firstFailure == null ? told : blamed;
                case Interrupted(Signal signal) -> interrupted(signal);
                case null -> escalate();
            }
        }
        took = terminationSequence.elapsed();
        return firstFailure == null && interruption == null;
    }

    private void exited(Exited exited, ExitListener listener) {
        if (!running.remove(exited.rank)) {
            return; // its host was lost before
        }
        hosts.agent(exited.rank.host()).ended(exited.rank.process());
        listener.exited(exited.rank.rank(), exited.exitStatus.toString());
        if (!terminationSequence.hasSignalled()) {
            endings.put(exited.rank, exited.exitStatus);
        }
        if (!exited.exitStatus.failed() || terminationSequence.hasSignalled()) {
            explain("%s: %s".formatted(exited.rank, exited.exitStatus));
            return;
        }
        failed(exited.rank, exited.exitStatus.toString());
        launcherConsole.printMessage("%s failed: %s".formatted(exited.rank, exited.exitStatus));
    }

    private void lost(HostLost lost, ExitListener listener) {
        List<RankProcess> gone =
                running.stream().filter(rank -> rank.host().equals(lost.host)).toList();
        if (gone.isEmpty()) {
            explain("lost contact with host %s, which had ended its part".formatted(lost.host));
            return;
        }
        gone.forEach(running::remove);
        String how = "contact with its host was lost";
        gone.forEach(rank -> listener.lost(rank.rank(), how));
        if (!terminationSequence.hasSignalled()) {
            failed(gone.getFirst(), how);
        }
        launcherConsole.printMessage(
                "lost contact with host %s (%s): %s. Its processes there end by themselves."
                        .formatted(lost.host, numbers(gone), lost.reason));
    }

    private void failed(RankProcess rank, String how) {
        if (firstFailure == null) {
            firstFailure = new Failure(rank, how);
            terminationSequence.startGracePeriod();
        }
    }

    private static String numbers(List<RankProcess> ranks) {
        return ranks.stream()
                .map(rank -> Integer.toString(rank.rank()))
                .collect(Collectors.joining(", ", ranks.size() == 1 ? "rank " : "ranks ", ""));
    }

    private void interrupted(Signal signal) {
        interruption = signal;
        terminationSequence.signal(
                signal); // before it is told, as a console may be stopped by its user
        launcherConsole.printMessage(
                "got %s, ending %d processes".formatted(signal, running.size()));
    }

    private void escalate() {
        terminationSequence.escalate();
        explain("%s: %s".formatted(terminationSequence, running));
    }

    /// Ends what is left of the job, and says how it went.
    ///
    /// @return the exit code of the launcher
    int conclude() throws IOException, InterruptedException {
        sweep();
        awaitOutput();
        for (RankProcess rank : running) {
            launcherConsole.printMessage(
                    "gave up on %s, which does not even end by SIGKILL".formatted(rank));
        }
        if (interruption != null) {
            launcherConsole.printMessage(
                    "ended by %s after %s".formatted(interruption, FailureReport.seconds(took)));
            return 128 + interruption.number();
        }
        if (firstFailure != null) {
            launcherConsole.printMessage(report(culprit(firstFailure)));
            return HorovodRun.FAILURE;
        }
        return 0;
    }

    private void awaitOutput() throws InterruptedException {
        for (RankProcess rank : ranks.values()) {
            rank.awaitOutput();
        }
    }

    /// Ends what the ranks have left behind. That is worth a message only if they ended of their
    /// own accord: after a signal, their children may just be a moment slower.
    private void sweep() throws IOException, InterruptedException {
        for (String left : hosts.sweep()) {
            String message = "ended a process that the job had left behind: " + left;
            if (terminationSequence.hasSignalled()) {
                explain(message);
            } else {
                launcherConsole.printMessage(message);
            }
        }
    }

    /// Who failed first: the rank whose failure was seen first, unless that came of another's. A rank
    /// that ended well is nobody's excuse: the others may have had no more need of it.
    private Failure culprit(Failure seen) {
        RankProcess rank = blamed == null ? null : ranks.get(blamed.rank);
        if (blamed == null || rank == null) {
            return seen;
        }
        ExitStatus exitStatus = endings.get(rank);
        if (exitStatus == null) {
            return new Failure(rank, blamed.reason);
        }
        return exitStatus.failed() ? new Failure(rank, exitStatus.toString()) : seen;
    }

    private String report(Failure first) {
        return new FailureReport(
                        first.rank.toString(),
                        first.how,
                        first.rank.lastErrors(),
                        ranks.size() > 1 ? took : null)
                .toString();
    }

    private void explainCommand(int command) {
        if (!verbose) {
            return;
        }
        Map<String, List<String>> byProgram =
                hosts.names().stream()
                        .collect(
                                Collectors.groupingBy(
                                        name -> hosts.program(name, command).toString(),
                                        LinkedHashMap::new,
                                        Collectors.toList()));
        byProgram.forEach(
                (program, names) ->
                        launcherConsole.printMessage(
                                byProgram.size() == 1
                                        ? "each rank runs: " + program
                                        : "each rank on %s runs: %s"
                                                .formatted(String.join(", ", names), program)));
    }

    private void explain(String step) {
        if (verbose) {
            launcherConsole.printMessage(step);
        }
    }
}

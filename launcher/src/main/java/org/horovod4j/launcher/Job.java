package org.horovod4j.launcher;

import org.horovod4j.launcher.output.Console;
import org.horovod4j.launcher.output.Forwarding;
import org.horovod4j.launcher.plan.HostPlan;
import org.horovod4j.launcher.plan.Slot;
import org.horovod4j.launcher.process.Ending;
import org.horovod4j.launcher.process.HostAgent;
import org.horovod4j.launcher.process.Program;
import org.horovod4j.launcher.process.Signal;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/// The processes of one run, from their start until none is left.
///
/// Whatever happens arrives as an [Event] in one queue, and the thread in [#await] alone acts on
/// it.
final class Job {
    /// Hears how ranks ended, well or badly: others may still wait for them.
    interface ExitListener {
        void exited(int rank, String how);

        /// One that tells this one, and then the other.
        default ExitListener before(ExitListener other) {
            return (rank, how) -> {
                exited(rank, how);
                other.exited(rank, how);
            };
        }
    }

    private sealed interface Event {}

    private record Exited(RankProcess rank, Ending ending) implements Event {}

    private record Interrupted(Signal signal) implements Event {}

    private final Program program;
    private final HostAgent host;
    private final ExitListener listener;
    private final Forwarding forwarding;
    private final Console console;
    private final boolean verbose;
    private final Stopping stopping;
    private final BlockingQueue<Event> events = new LinkedBlockingQueue<>();
    private final List<RankProcess> ranks = new ArrayList<>();
    private final Set<RankProcess> running = new LinkedHashSet<>();
    private @Nullable Exited firstFailure;
    private @Nullable Signal interruption;

    Job(
            Program program,
            HostAgent host,
            ExitListener listener,
            Forwarding forwarding,
            boolean verbose) {
        this.program = program;
        this.host = host;
        this.listener = listener;
        this.forwarding = forwarding;
        this.console = forwarding.console();
        this.verbose = verbose;
        this.stopping = new Stopping(host);
    }

    /// Starts every rank of the plan, one after the other: a start takes 2 ms, and several at a
    /// time measured no faster.
    void start(HostPlan plan, JobVariables variables) throws IOException {
        explain("each rank runs: " + program);
        for (Slot slot : plan.slots()) {
            Process process = host.start(program.command(slot.rank()), variables.of(slot));
            RankProcess rank = new RankProcess(slot, process, forwarding, program.unwantedLine());
            ranks.add(rank);
            running.add(rank);
            var _ =
                    process.onExit()
                            .thenAccept(
                                    it -> events.add(new Exited(rank, new Ending(it.exitValue()))));
            explain("started " + rank);
        }
    }

    /// Passes a signal of the launcher's own on to the job. May be called from any thread.
    void interrupt(Signal signal) {
        events.add(new Interrupted(signal));
    }

    /// Waits for the end of all processes, and ends them all once one has failed.
    ///
    /// @return the exit code of the launcher
    int await() throws InterruptedException {
        while (!running.isEmpty() && !stopping.hasGivenUp()) {
            switch (events.poll(stopping.timeLeft().toNanos(), TimeUnit.NANOSECONDS)) {
                case Exited exited -> exited(exited);
                case Interrupted(Signal signal) -> interrupted(signal);
                case null -> escalate();
            }
        }
        Duration took = stopping.elapsed();
        sweep();
        for (RankProcess rank : ranks) {
            rank.awaitOutput();
        }
        return conclude(took);
    }

    private void exited(Exited exited) {
        running.remove(exited.rank);
        host.ended(exited.rank.process());
        listener.exited(exited.rank.rank(), exited.ending.toString());
        if (!exited.ending.failed() || stopping.hasSignalled()) {
            explain("%s: %s".formatted(exited.rank, exited.ending));
            return;
        }
        console.say("%s failed: %s".formatted(exited.rank, exited.ending));
        if (firstFailure == null) {
            firstFailure = exited;
            stopping.letLeave();
        }
    }

    private void interrupted(Signal signal) {
        console.say("got %s, ending %d processes".formatted(signal, running.size()));
        interruption = signal;
        stopping.ask(signal);
    }

    private void escalate() {
        stopping.escalate();
        explain("%s: %s".formatted(stopping, running));
    }

    /// Ends what the ranks have left behind. That is worth a message only if they ended of their
    /// own accord: after a signal, their children may just be a moment slower.
    private void sweep() throws InterruptedException {
        for (String left : host.sweep()) {
            String message = "ended a process that the job had left behind: " + left;
            if (stopping.hasSignalled()) {
                explain(message);
            } else {
                console.say(message);
            }
        }
    }

    private int conclude(Duration took) {
        for (RankProcess rank : running) {
            console.say("gave up on %s, which does not even end by SIGKILL".formatted(rank));
        }
        if (interruption != null) {
            console.say("ended by %s after %s".formatted(interruption, seconds(took)));
            return 128 + interruption.number();
        }
        if (firstFailure != null) {
            console.say(failure(firstFailure, took));
            return HorovodRun.FAILURE;
        }
        return 0;
    }

    private String failure(Exited first, Duration took) {
        StringBuilder text = new StringBuilder();
        text.append(
                "the job failed. First to fail was %s: %s.".formatted(first.rank, first.ending));
        List<String> errors = first.rank.lastErrors();
        if (!errors.isEmpty()) {
            text.append("\n  Its last lines on standard error:");
            errors.forEach(line -> text.append("\n    ").append(line));
        }
        if (ranks.size() > 1) {
            text.append("\n  The other processes had ended %s later.".formatted(seconds(took)));
        }
        return text.toString();
    }

    private static String seconds(Duration duration) {
        return String.format(Locale.ROOT, "%.1f s", duration.toMillis() / 1e3);
    }

    private void explain(String step) {
        if (verbose) {
            console.say(step);
        }
    }
}

package org.horovod4j.launcher;

import org.horovod4j.launcher.process.Signal;

import java.time.Duration;
import java.util.function.Consumer;

/// The steps by which a job is brought to its end, each with the time it gets.
///
/// | stage       | the processes                                          | next after |
/// |-------------|--------------------------------------------------------|------------|
/// | `RUNNING`   | work                                                   | –          |
/// | `GRACE_PERIOD`   | may report the loss of a peer and end by themselves    | 2 s        |
/// | `SIGNALLED`     | have got SIGTERM, or the signal that the launcher got  | 5 s        |
/// | `KILLED`    | have got SIGKILL                                       | 10 s       |
/// | `ABANDONED` | are stuck in the kernel; the launcher ends without them | –          |
///
/// Not safe for use by several threads: the thread that awaits the job owns it.
final class TerminationSequence {
    private enum Stage {
        RUNNING(Duration.ZERO),
        GRACE_PERIOD(Duration.ofSeconds(2)),
        SIGNALLED(Duration.ofSeconds(5)),
        KILLED(Duration.ofSeconds(10)),
        ABANDONED(Duration.ZERO);

        private final Duration timeout;

        Stage(Duration timeout) {
            this.timeout = timeout;
        }
    }

    private final Consumer<Signal> sendSignal;
    private Stage stage = Stage.RUNNING;
    private long startedNanos;
    private long stageNanos;

    /// @param sendSignal sends a signal to all processes of the job
    TerminationSequence(Consumer<Signal> sendSignal) {
        this.sendSignal = sendSignal;
    }

    boolean hasStarted() {
        return stage != Stage.RUNNING;
    }

    /// Whether processes that end from now on may do so because they were told to.
    boolean hasSignalled() {
        return stage.compareTo(Stage.SIGNALLED) >= 0;
    }

    boolean hasGivenUp() {
        return stage == Stage.ABANDONED;
    }

    /// Begins, with time for the processes to end by themselves.
    void startGracePeriod() {
        enter(Stage.GRACE_PERIOD);
    }

    /// Passes a signal on; whoever asks a second time is not made to wait any longer.
    void signal(Signal signal) {
        if (hasSignalled()) {
            kill();
        } else {
            sendSignal.accept(signal);
            enter(Stage.SIGNALLED);
        }
    }

    void kill() {
        sendSignal.accept(Signal.KILL);
        enter(Stage.KILLED);
    }

    /// Takes the next step, to be called when [#timeLeft] has passed.
    void escalate() {
        switch (stage) {
            case RUNNING, ABANDONED -> {}
            case GRACE_PERIOD -> signal(Signal.TERM);
            case SIGNALLED -> kill();
            case KILLED -> enter(Stage.ABANDONED);
        }
    }

    /// How long to wait before [#escalate]; for ever while nothing is to be stopped.
    Duration timeLeft() {
        return hasStarted()
                ? stage.timeout.minusNanos(System.nanoTime() - stageNanos)
                : Duration.ofNanos(Long.MAX_VALUE);
    }

    /// The time since stopping began.
    Duration elapsed() {
        return Duration.ofNanos(System.nanoTime() - startedNanos);
    }

    private void enter(Stage next) {
        stageNanos = System.nanoTime();
        if (!hasStarted()) {
            startedNanos = stageNanos;
        }
        stage = next;
    }

    /// The stage, for messages.
    @Override
    public String toString() {
        return switch (stage) {
            case RUNNING -> "running";
            case GRACE_PERIOD -> "waiting for processes to end by themselves";
            case SIGNALLED -> "asked to end";
            case KILLED -> "killed";
            case ABANDONED -> "given up";
        };
    }
}

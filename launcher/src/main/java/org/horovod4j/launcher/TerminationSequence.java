package org.horovod4j.launcher;

import org.horovod4j.launcher.process.Signal;

import java.time.Duration;
import java.util.function.Consumer;

/// The steps that end a job, each with its timeout.
///
/// | stage          | the processes                                             | next after |
/// |----------------|-----------------------------------------------------------|------------|
/// | `RUNNING`      | work                                                      | –          |
/// | `GRACE_PERIOD` | may report the loss of a peer and exit by themselves      | 2 s        |
/// | `SIGNALLED`    | have got SIGTERM, or the signal that the launcher got     | 5 s        |
/// | `KILLED`       | have got SIGKILL                                          | 10 s       |
/// | `ABANDONED`    | hang in the kernel; the launcher ends without them        | –          |
///
/// The thread that runs the job owns it.
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

    /// Whether a signal was sent, so that processes may exit because of it.
    boolean hasSignalled() {
        return stage.compareTo(Stage.SIGNALLED) >= 0;
    }

    boolean hasGivenUp() {
        return stage == Stage.ABANDONED;
    }

    /// Starts with time for the processes to exit by themselves.
    void startGracePeriod() {
        enter(Stage.GRACE_PERIOD);
    }

    /// Sends a signal. The second signal kills the processes at once.
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

    /// Takes the next step. To be called when [#timeLeft] has passed.
    void escalate() {
        switch (stage) {
            case RUNNING, ABANDONED -> {}
            case GRACE_PERIOD -> signal(Signal.TERM);
            case SIGNALLED -> kill();
            case KILLED -> enter(Stage.ABANDONED);
        }
    }

    /// How long to wait before [#escalate]; forever while the job runs.
    Duration timeLeft() {
        return hasStarted()
                ? stage.timeout.minusNanos(System.nanoTime() - stageNanos)
                : Duration.ofNanos(Long.MAX_VALUE);
    }

    /// The time since the first step.
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
            case GRACE_PERIOD -> "waiting for processes to exit";
            case SIGNALLED -> "sent a signal";
            case KILLED -> "killed";
            case ABANDONED -> "given up";
        };
    }
}

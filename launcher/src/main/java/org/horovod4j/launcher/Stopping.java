package org.horovod4j.launcher;

import org.horovod4j.launcher.process.Signal;

import java.time.Duration;
import java.util.function.Consumer;

/// The steps by which a job is brought to its end, each with the time it gets.
///
/// | stage       | the processes                                          | next after |
/// |-------------|--------------------------------------------------------|------------|
/// | `RUNNING`   | work                                                   | –          |
/// | `LEAVING`   | may report the loss of a peer and end by themselves    | 2 s        |
/// | `ASKED`     | have got SIGTERM, or the signal that the launcher got  | 5 s        |
/// | `KILLED`    | have got SIGKILL                                       | 10 s       |
/// | `ABANDONED` | are stuck in the kernel; the launcher ends without them | –          |
///
/// Not safe for use by several threads: the thread that awaits the job owns it.
final class Stopping {
    private enum Stage {
        RUNNING(Duration.ZERO),
        LEAVING(Duration.ofSeconds(2)),
        ASKED(Duration.ofSeconds(5)),
        KILLED(Duration.ofSeconds(10)),
        ABANDONED(Duration.ZERO);

        private final Duration patience;

        Stage(Duration patience) {
            this.patience = patience;
        }
    }

    private final Consumer<Signal> send;
    private Stage stage = Stage.RUNNING;
    private long startedNanos;
    private long stageNanos;

    /// @param send sends a signal to all processes of the job
    Stopping(Consumer<Signal> send) {
        this.send = send;
    }

    boolean hasBegun() {
        return stage != Stage.RUNNING;
    }

    /// Whether processes that end from now on may do so because they were told to.
    boolean hasSignalled() {
        return stage.compareTo(Stage.ASKED) >= 0;
    }

    boolean hasGivenUp() {
        return stage == Stage.ABANDONED;
    }

    /// Begins, with time for the processes to end by themselves.
    void letLeave() {
        enter(Stage.LEAVING);
    }

    /// Passes a signal on; whoever asks a second time is not made to wait any longer.
    void ask(Signal signal) {
        if (hasSignalled()) {
            kill();
        } else {
            send.accept(signal);
            enter(Stage.ASKED);
        }
    }

    void kill() {
        send.accept(Signal.KILL);
        enter(Stage.KILLED);
    }

    /// Takes the next step, to be called when [#timeLeft] has passed.
    void escalate() {
        switch (stage) {
            case RUNNING, ABANDONED -> {}
            case LEAVING -> ask(Signal.TERM);
            case ASKED -> kill();
            case KILLED -> enter(Stage.ABANDONED);
        }
    }

    /// How long to wait before [#escalate]; for ever while nothing is to be stopped.
    Duration timeLeft() {
        return hasBegun()
                ? stage.patience.minusNanos(System.nanoTime() - stageNanos)
                : Duration.ofNanos(Long.MAX_VALUE);
    }

    /// The time since stopping began.
    Duration elapsed() {
        return Duration.ofNanos(System.nanoTime() - startedNanos);
    }

    private void enter(Stage next) {
        stageNanos = System.nanoTime();
        if (!hasBegun()) {
            startedNanos = stageNanos;
        }
        stage = next;
    }

    /// The stage, for messages.
    @Override
    public String toString() {
        return switch (stage) {
            case RUNNING -> "running";
            case LEAVING -> "waiting for processes to end by themselves";
            case ASKED -> "asked to end";
            case KILLED -> "killed";
            case ABANDONED -> "given up";
        };
    }
}

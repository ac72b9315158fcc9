package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.launcher.process.HostAgent;
import org.horovod4j.launcher.process.Signal;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

class StoppingTest {
    private final List<Signal> sent = new ArrayList<>();
    private final Stopping stopping = new Stopping(new Recorder());

    @Test
    void aRunningJobIsWaitedForWithoutEnd() {
        assertThat(stopping.timeLeft()).isGreaterThan(Duration.ofDays(365));
        stopping.escalate();
        assertThat(stopping.hasBegun()).isFalse();
    }

    @Test
    void eachStepIsHarsher() {
        stopping.letLeave();
        assertThat(sent).isEmpty();
        stopping.escalate();
        assertThat(sent).containsExactly(Signal.TERM);
        stopping.escalate();
        assertThat(sent).containsExactly(Signal.TERM, Signal.KILL);
        assertThat(stopping.hasGivenUp()).isFalse();
        stopping.escalate();
        assertThat(stopping.hasGivenUp()).isTrue();
    }

    @Test
    void theUsersSignalIsPassedOnAtOnce() {
        stopping.letLeave();
        stopping.ask(Signal.INT);
        assertThat(sent).containsExactly(Signal.INT);
    }

    @Test
    void askingTwiceKills() {
        stopping.ask(Signal.INT);
        stopping.ask(Signal.INT);
        assertThat(sent).containsExactly(Signal.INT, Signal.KILL);
    }

    private final class Recorder implements HostAgent {
        @Override
        public Process start(List<String> command, Map<String, String> variables) {
            throw new AssertionError("nothing is started here");
        }

        @Override
        public void ended(Process process) {}

        @Override
        public void signal(Signal signal) {
            sent.add(signal);
        }

        @Override
        public List<String> sweep() {
            return List.of();
        }

        @Override
        public void close() {}
    }
}

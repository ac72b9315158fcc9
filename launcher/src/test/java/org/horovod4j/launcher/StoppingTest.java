package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.launcher.process.Signal;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

class StoppingTest {
    private final List<Signal> sent = new ArrayList<>();
    private final Stopping stopping = new Stopping(sent::add);

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
}

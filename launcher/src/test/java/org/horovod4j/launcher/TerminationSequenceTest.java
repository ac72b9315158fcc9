package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.launcher.process.Signal;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

class TerminationSequenceTest {
    private final List<Signal> sent = new ArrayList<>();
    private final TerminationSequence sequence = new TerminationSequence(sent::add);

    @Test
    void runningJobHasNoTimeout() {
        assertThat(sequence.timeLeft()).isGreaterThan(Duration.ofDays(365));
        sequence.escalate();
        assertThat(sequence.hasStarted()).isFalse();
    }

    @Test
    void escalatesFromSigtermToSigkill() {
        sequence.startGracePeriod();
        assertThat(sent).isEmpty();
        sequence.escalate();
        assertThat(sent).containsExactly(Signal.TERM);
        sequence.escalate();
        assertThat(sent).containsExactly(Signal.TERM, Signal.KILL);
        assertThat(sequence.hasGivenUp()).isFalse();
        sequence.escalate();
        assertThat(sequence.hasGivenUp()).isTrue();
    }

    @Test
    void userSignalIsSentImmediately() {
        sequence.startGracePeriod();
        sequence.signal(Signal.INT);
        assertThat(sent).containsExactly(Signal.INT);
    }

    @Test
    void secondSignalKills() {
        sequence.signal(Signal.INT);
        sequence.signal(Signal.INT);
        assertThat(sent).containsExactly(Signal.INT, Signal.KILL);
    }
}

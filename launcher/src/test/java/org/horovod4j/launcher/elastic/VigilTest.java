package org.horovod4j.launcher.elastic;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.time.Duration;

class VigilTest {
    private static final Duration START = Duration.ofSeconds(7);
    private static final Duration END = START.plus(Vigil.LIMIT);

    private final Vigil vigil = new Vigil();

    @Test
    void aSilentWorkerIsDueOnceWhenItsTimeIsOver() {
        vigil.silent(3, "silent for 10 s", START);
        assertThat(vigil.due(END.minusMillis(1))).isEmpty();
        assertThat(vigil.due(END)).containsExactly(3);
        assertThat(vigil.due(END.plusSeconds(9))).isEmpty();
        assertThat(vigil.ended(3)).contains("silent for 10 s");
        assertThat(vigil.ended(3)).isEmpty();
    }

    @Test
    void theFirstSilenceCounts() {
        vigil.silent(3, "silent for 10 s", START);
        vigil.silent(3, "its connection closed", END);
        assertThat(vigil.due(END)).containsExactly(3);
        assertThat(vigil.ended(3)).contains("silent for 10 s");
    }

    @Test
    void whoSpeaksOrEndsInTimeIsNotKilled() {
        vigil.silent(3, "its connection closed", START);
        vigil.silent(4, "its connection closed", START);
        vigil.heard(3);
        assertThat(vigil.ended(4)).as("it was not killed for it").isEmpty();
        assertThat(vigil.due(END)).isEmpty();
    }

    @Test
    void whoIsLateIsDueAtOnce() {
        vigil.late(3, START);
        vigil.late(3, END);
        assertThat(vigil.due(START)).containsExactly(3);
        assertThat(vigil.due(END)).isEmpty();
        assertThat(vigil.ended(3)).contains("it did not come back as the others did");
    }
}

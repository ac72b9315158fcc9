package org.horovod4j.tensorflow.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.HorovodException;
import org.horovod4j.MismatchException;
import org.horovod4j.PeerLostException;
import org.junit.jupiter.api.Test;

/// Which exception a message of TensorFlow stands for.
class FailuresTest {
    @Test
    void newerExceptionsWithShortTextsDoNotHideALostRank() {
        PeerLostException lost = new PeerLostException(1, "host", "rank 1 on host is lost", null);
        String message = "{{node sum}} " + Failures.record(lost);
        String empty = Failures.record(new IllegalStateException(""));
        Failures.record(new MismatchException("rank 1"));
        Failures.record(new IllegalStateException("{{node sum}} rank 1 on host is lost"));
        assertThat(Failures.find(message, HorovodException.class)).containsSame(lost);
        assertThat(empty).as("text of an exception without message").contains("IllegalState");
        assertThat(Failures.find("another message", HorovodException.class)).isEmpty();
    }

    @Test
    void newestOfEqualTextsIsFound() {
        Failures.record(new MismatchException("the same text twice"));
        MismatchException newest = new MismatchException("the same text twice");
        assertThat(Failures.find("op: " + Failures.record(newest), HorovodException.class))
                .containsSame(newest);
    }
}

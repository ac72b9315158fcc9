package org.horovod4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.util.List;

/// The facade in a process that nobody launched: a world of one.
class HvdTest {
    @AfterEach
    void leave() {
        Hvd.shutdown();
    }

    @Test
    void callsBeforeInitFail() {
        assertThat(Hvd.isInitialized()).isFalse();
        assertThatThrownBy(Hvd::rank)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("Hvd.init()");
        assertThatThrownBy(() -> Hvd.allreduce("t", new float[] {1}, ReduceOp.SUM))
                .isInstanceOf(IllegalStateException.class);
    }

    @Test
    void initWithoutLauncherMakesOneRank() {
        Hvd.init();
        Hvd.init();
        assertThat(Hvd.isInitialized()).isTrue();
        assertThat(Hvd.rank()).isEqualTo(0);
        assertThat(Hvd.size()).isEqualTo(1);
        assertThat(Hvd.localRank()).isEqualTo(0);
        assertThat(Hvd.localSize()).isEqualTo(1);
        assertThat(Hvd.crossRank()).isEqualTo(0);
        assertThat(Hvd.crossSize()).isEqualTo(1);
        assertThat(Hvd.isHomogeneous()).isTrue();
    }

    @Test
    void everyCollectiveWorksOnOneRank() {
        Hvd.init();
        float[] tensor = {1, 2};
        Hvd.allreduce("t", tensor, ReduceOp.AVERAGE);
        assertThat(tensor).containsExactly(1, 2);
        assertThat(Hvd.allgather("t", Tensor.of(tensor)).toFloatArray()).containsExactly(1, 2);
        assertThat(Hvd.broadcast("t", Tensor.of(tensor), 0).toFloatArray()).containsExactly(1, 2);
        assertThat(Hvd.communicator().alltoall("t", Tensor.of(tensor)).toFloatArray())
                .containsExactly(1, 2);
        assertThat(Hvd.communicator().reducescatter("t", Tensor.of(tensor), ReduceOp.SUM))
                .extracting(Tensor::shape)
                .isEqualTo(Shape.of(2));
        assertThat(Hvd.communicator().allgatherObject("o", "text")).isEqualTo(List.of("text"));
        Hvd.barrier();
    }

    @Test
    void initAfterCommunicatorCloseRejoins() {
        Hvd.init();
        Hvd.communicator().close();
        assertThat(Hvd.isInitialized()).isFalse();
        Hvd.init();
        Hvd.barrier();
    }

    @Test
    void interruptedThreadCompletesAllreduceAndStaysInterrupted() {
        Hvd.init();
        Thread.currentThread().interrupt();
        Hvd.barrier();
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void emptyTensorNameIsRejected() {
        Hvd.init();
        assertThatThrownBy(() -> Hvd.allreduce("", new float[] {1}, ReduceOp.SUM))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("name");
    }

    @Test
    void allocateAfterShutdownFails() {
        Hvd.init();
        Communicator communicator = Hvd.communicator();
        Hvd.shutdown();
        assertThatThrownBy(() -> communicator.allocate(DataType.INT8, Shape.of(1)))
                .isInstanceOf(ShutDownException.class);
    }

    @Test
    void initAfterShutdownRejoins() {
        Hvd.init();
        Communicator first = Hvd.communicator();
        Hvd.shutdown();
        Hvd.shutdown();
        assertThat(Hvd.isInitialized()).isFalse();
        assertThatThrownBy(first::barrier).isInstanceOf(ShutDownException.class);
        Hvd.init();
        assertThat(Hvd.size()).isEqualTo(1);
        Hvd.barrier();
    }
}

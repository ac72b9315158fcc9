package org.horovod4j.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.concurrent.atomic.LongAdder;

class AllreduceBenchmarkTest {
    private static final Duration TIMED = Duration.ofMillis(20);

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void timesRightSums(boolean withMetric) {
        World.run(
                2,
                comm -> {
                    Tensor tensor = MemoryKind.NATIVE.allocate(comm, 7);
                    assertThat(
                                    new AllreduceBenchmark(comm, TIMED, withMetric)
                                            .measure(
                                                    tensor,
                                                    () ->
                                                            comm.allreduce(
                                                                    "values", tensor, ReduceOp.SUM))
                                            .median())
                            .isPositive();
                });
    }

    @Test
    void wrongSumAfterTheTimingFails() {
        World.run(
                1,
                comm -> {
                    Tensor tensor = MemoryKind.NATIVE.allocate(comm, 7);
                    LongAdder calls = new LongAdder();
                    assertThatIllegalStateException()
                            .isThrownBy(
                                    () ->
                                            new AllreduceBenchmark(comm, TIMED, false)
                                                    .measure(
                                                            tensor,
                                                            () -> corruptLater(tensor, calls)))
                            .withMessageContaining("sum of 'values' over 1 ranks")
                            .withMessageContaining("element 3 is -1.0, not 4.0");
                    assertThat(calls.sum()).isGreaterThan(2);
                });
    }

    /// With one rank, the sum is the tensor itself. The first call is right, the others are not.
    private static void corruptLater(Tensor tensor, LongAdder calls) {
        calls.increment();
        if (calls.sum() > 1) {
            tensor.segment().setAtIndex(ValueLayout.JAVA_FLOAT, 3, -1);
        }
    }
}

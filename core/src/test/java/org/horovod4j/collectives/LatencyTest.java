package org.horovod4j.collectives;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.collectives.BackendWorld.Body;
import org.horovod4j.collectives.BackendWorld.Config;
import org.horovod4j.collectives.CountingLinks.Latency;
import org.horovod4j.option.AllreduceChoice;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.testing.Layout;
import org.horovod4j.testing.World.Transport;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;

/// Large operations do not wait for bytes that are in flight: a rank sends other bytes in the
/// meantime. On links with such a latency an operation that waits would never end.
@Timeout(120)
class LatencyTest {
    private static final int ELEMENTS = 2 << 20;
    private static final long BYTES = 4L * ELEMENTS;

    /// Less than what a rank sends in one step.
    private static final long IN_FLIGHT = 24 * 1024;

    private static void run(int size, int hosts, long sentByHost, Body operation) {
        run(size, hosts, AllreduceChoice.AUTO, sentByHost, operation);
    }

    /// @param sentByHost how many bytes each host sends
    private static void run(
            int size, int hosts, AllreduceChoice choice, long sentByHost, Body operation) {
        Latency latency = new Latency(IN_FLIGHT, sentByHost * hosts / size);
        BackendWorld world =
                Config.of(new Layout(size, hosts, Transport.LOCAL))
                        .withAllreduce(choice)
                        .withLatency(latency)
                        .open();
        try {
            world.run(operation);
        } finally {
            world.cancel(); // ranks that still wait after a timeout
            world.close();
        }
    }

    private static Tensor ones(long elements) {
        Tensor tensor = Tensor.zeros(DataType.FLOAT32, Shape.of(elements));
        for (long i = 0; i < elements; i++) {
            tensor.segment().setAtIndex(ValueLayout.JAVA_FLOAT, i, 1);
        }
        return tensor;
    }

    private static void assertThatAllAre(float expected, Tensor tensor) {
        float[] values = tensor.segment().toArray(ValueLayout.JAVA_FLOAT);
        for (float value : values) {
            if (value != expected) {
                assertThat(values).containsOnly(expected);
            }
        }
    }

    @ParameterizedTest(name = "{0} ranks on {1} hosts, {2}, in place {3}")
    @CsvSource({
        "2, 2, AUTO, true",
        "2, 2, AUTO, false",
        "3, 3, AUTO, true",
        "4, 4, AUTO, true",
        "4, 4, AUTO, false",
        "4, 4, HALVING_DOUBLING, true",
        "4, 2, AUTO, true",
        "6, 3, AUTO, true",
        "8, 4, RING, true",
        "8, 4, HALVING_DOUBLING, true"
    })
    void allreduce(int size, int hosts, AllreduceChoice choice, boolean inPlace) {
        run(
                size,
                hosts,
                choice,
                2 * BYTES * (hosts - 1) / hosts,
                (_, backend) -> {
                    Tensor input = ones(ELEMENTS);
                    Tensor output = inPlace ? input : ones(ELEMENTS);
                    FusedTensors fused = new FusedTensors(DataType.FLOAT32, ELEMENTS);
                    fused.set(0, input.segment(), output.segment());
                    backend.allreduce(5, fused, ReduceOp.SUM, Scale.NONE, 1);
                    assertThatAllAre(size, output);
                });
    }

    @ParameterizedTest(name = "{0} ranks on {1} hosts")
    @CsvSource({"2, 2", "4, 4", "4, 2", "8, 4"})
    void reducescatter(int size, int hosts) {
        run(
                size,
                hosts,
                BYTES * (hosts - 1) / hosts,
                (rank, backend) -> {
                    Tensor output = ones(ELEMENTS / size);
                    FusedTensors fused =
                            FusedTensors.forReducescatter(
                                    DataType.FLOAT32, List.of(Shape.of(ELEMENTS)), rank, size);
                    fused.set(0, ones(ELEMENTS).segment(), output.segment());
                    backend.reducescatter(5, fused, ReduceOp.SUM, Scale.NONE, 1);
                    assertThatAllAre(size, output);
                });
    }

    @ParameterizedTest(name = "{0} ranks")
    @CsvSource({"2", "4"})
    void allgather(int size) {
        run(
                size,
                size,
                BYTES * (size - 1) / size,
                (_, backend) -> {
                    List<Tensor> all = backend.allgather(5, List.of(ones(ELEMENTS / size)));
                    assertThatAllAre(1, all.getFirst());
                });
    }

    @ParameterizedTest(name = "{0} ranks")
    @CsvSource({"2", "4"})
    void alltoall(int size) {
        int[] splits = new int[size];
        Arrays.fill(splits, ELEMENTS / size);
        run(
                size,
                size,
                BYTES * (size - 1) / size,
                (_, backend) ->
                        assertThatAllAre(1, backend.alltoall(5, ones(ELEMENTS), splits).tensor()));
    }
}

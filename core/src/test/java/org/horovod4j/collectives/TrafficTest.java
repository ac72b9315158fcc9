package org.horovod4j.collectives;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.collectives.BackendWorld.Body;
import org.horovod4j.collectives.BackendWorld.Config;
import org.horovod4j.option.AllreduceChoice;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.testing.Layout;
import org.horovod4j.testing.World.Transport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.util.Arrays;
import java.util.List;

/// No host sends more bytes than an operation needs, apart from stamps.
class TrafficTest {
    private static final int RANKS = 8;
    private static final int HOSTS = 4;
    private static final long ELEMENTS = 1 << 20;
    private static final long BYTES = 4 * ELEMENTS;

    /// Less than one copy between two hosts would be.
    private static final long STAMPS = BYTES / 100;

    private final BackendWorld world =
            Config.of(new Layout(RANKS, HOSTS, Transport.LOCAL))
                    .withAllreduce(AllreduceChoice.RING) // others send more, in fewer steps
                    .open();

    @AfterEach
    void closeWorld() {
        world.close();
    }

    private static Tensor tensor(long elements) {
        return Tensor.zeros(DataType.FLOAT32, Shape.of(elements));
    }

    private void assertThatEachHostSends(long bytes, Body operation) {
        world.run(operation);
        long[] sent = new long[HOSTS];
        for (int rank = 0; rank < RANKS; rank++) {
            sent[rank % HOSTS] += world.sentBytes(rank);
        }
        assertThat(sent)
                .as("bytes sent by each host")
                .satisfies(
                        all ->
                                assertThat(Arrays.stream(all))
                                        .allMatch(each -> each <= bytes + STAMPS));
    }

    @Test
    void allreduceSendsTwiceWhatOtherHostsHold() {
        assertThatEachHostSends(
                2 * BYTES * (HOSTS - 1) / HOSTS,
                (_, backend) -> {
                    Tensor tensor = tensor(ELEMENTS);
                    FusedTensors fused = new FusedTensors(DataType.FLOAT32, ELEMENTS);
                    fused.set(0, tensor.segment(), tensor.segment());
                    backend.allreduce(5, fused, ReduceOp.SUM, Scale.NONE, 1);
                });
    }

    @Test
    void reducescatterSendsWhatOtherHostsReceive() {
        assertThatEachHostSends(
                BYTES * (HOSTS - 1) / HOSTS,
                (rank, backend) -> {
                    FusedTensors fused =
                            FusedTensors.forReducescatter(
                                    DataType.FLOAT32, List.of(Shape.of(ELEMENTS)), rank, RANKS);
                    fused.set(0, tensor(ELEMENTS).segment(), tensor(ELEMENTS / RANKS).segment());
                    backend.reducescatter(5, fused, ReduceOp.SUM, Scale.NONE, 1);
                });
    }

    @Test
    void broadcastSendsOneCopy() {
        assertThatEachHostSends(
                BYTES, (_, backend) -> backend.broadcast(5, tensor(ELEMENTS), RANKS - 1));
    }

    @Test
    void allgatherPassesEachTensorOn() {
        assertThatEachHostSends(
                BYTES * (HOSTS - 1) / HOSTS,
                (_, backend) -> backend.allgather(5, List.of(tensor(ELEMENTS / RANKS))));
    }

    @Test
    void alltoallSendsOnlyWhatOthersReceive() {
        int[] splits = new int[RANKS];
        Arrays.fill(splits, (int) ELEMENTS / RANKS / RANKS);
        assertThatEachHostSends(
                BYTES / HOSTS * (HOSTS - 1) / HOSTS,
                (_, backend) -> backend.alltoall(5, tensor(ELEMENTS / RANKS), splits));
    }
}

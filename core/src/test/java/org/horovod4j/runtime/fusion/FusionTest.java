package org.horovod4j.runtime.fusion;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.runtime.fusion.Fusion.Item;
import org.horovod4j.runtime.message.CollectiveKind;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.message.TestRequests;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.stream.IntStream;

class FusionTest {
    private static final Request FLOATS = TestRequests.sum("f", 25);
    private static final Request HALVES =
            TestRequests.of(CollectiveKind.ALLREDUCE, "h", DataType.FLOAT16, Shape.of(50));

    private static List<List<Integer>> batches(long threshold, Request... requests) {
        return batches(new Fusion(threshold, threshold, true), requests);
    }

    private static List<List<Integer>> batches(Fusion fusion, Request... requests) {
        return fusion.batches(
                IntStream.range(0, requests.length)
                        .mapToObj(i -> new Item(requests[i], requests[i].byteSize(), 0, 2))
                        .toList());
    }

    @Test
    void tensorsAreFusedUpToTheThreshold() {
        assertThat(batches(300, FLOATS, FLOATS, FLOATS, FLOATS))
                .containsExactly(List.of(0, 1, 2), List.of(3));
        assertThat(batches(299, FLOATS, FLOATS, FLOATS)).containsExactly(List.of(0, 1), List.of(2));
    }

    @Test
    void tensorAboveTheThresholdIsNotFused() {
        Request large = TestRequests.sum("large", 1_000);
        assertThat(batches(300, large, FLOATS, FLOATS)).containsExactly(List.of(0), List.of(1, 2));
        assertThat(batches(300, FLOATS, large, FLOATS))
                .containsExactly(List.of(0), List.of(1), List.of(2));
    }

    @Test
    void aThresholdOfZeroFusesNothing() {
        Request empty = TestRequests.sum("empty", 0);
        assertThat(batches(0, FLOATS, FLOATS, empty, empty))
                .containsExactly(List.of(0), List.of(1), List.of(2), List.of(3));
    }

    @Test
    void tensorOfAnotherTypeIsSkipped() {
        assertThat(batches(1_000, FLOATS, HALVES, FLOATS, HALVES, FLOATS))
                .containsExactly(List.of(0, 2, 4), List.of(1, 3));
    }

    @Test
    void skippedBytesCountTowardsTheThreshold() {
        assertThat(batches(300, FLOATS, HALVES, HALVES, HALVES, FLOATS))
                .containsExactly(List.of(0), List.of(1, 2, 3), List.of(4));
    }

    @Test
    void onlyCompatibleTensorsAreFused() {
        Request[] all = {
            FLOATS,
            TestRequests.with(FLOATS, ReduceOp.MAX, Scale.NONE),
            TestRequests.with(FLOATS, ReduceOp.SUM, Scale.after(2)),
            FLOATS.withShared(true),
            TestRequests.of(CollectiveKind.REDUCESCATTER, "r", DataType.FLOAT32, Shape.of(25)),
            TestRequests.of(CollectiveKind.ALLGATHER, "g", DataType.FLOAT32, Shape.of(25))
        };
        assertThat(batches(10_000, all)).hasSize(all.length);
    }

    @Test
    void tensorsOfDifferentDeviceKindsAreNotFused() {
        Request onGpu = TestRequests.on(Device.cuda(0), FLOATS);
        assertThat(batches(10_000, FLOATS, onGpu, FLOATS, onGpu))
                .containsExactly(List.of(0, 2), List.of(1, 3));
        assertThat(batches(10_000, onGpu, onGpu.withWireType(DataType.FLOAT16))).hasSize(2);
    }

    @Test
    void deviceTensorsHaveTheirOwnThreshold() {
        Request onGpu = TestRequests.on(Device.cuda(0), FLOATS);
        assertThat(batches(new Fusion(1_000, 0, true), onGpu, FLOATS, onGpu, FLOATS))
                .containsExactly(List.of(0), List.of(1, 3), List.of(2));
    }

    @Test
    void broadcastAndAlltoallAreNeverFused() {
        Request exchange =
                TestRequests.of(CollectiveKind.ALLTOALL, "t", DataType.INT8, Shape.of(4));
        assertThat(
                        batches(
                                10_000,
                                exchange,
                                exchange,
                                TestRequests.broadcast("b", 0),
                                TestRequests.broadcast("c", 0)))
                .hasSize(4);
    }

    @Test
    void segmentsAreNotFusedTogether() {
        List<Item> items =
                List.of(
                        new Item(FLOATS, 100, 1, 2),
                        new Item(FLOATS, 100, 2, 2),
                        new Item(FLOATS, 100, 1, 2));
        assertThat(new Fusion(1_000, 1_000, true).batches(items))
                .containsExactly(List.of(0, 2), List.of(1));
    }

    @Test
    void groupsAreFusedWithOtherTensorsUnlessDisabled() {
        Request[] all = {
            TestRequests.sum("a", 1),
            TestRequests.inGroup("g", TestRequests.sum("g_1of2", 1)),
            TestRequests.sum("b", 1),
            TestRequests.inGroup("g", TestRequests.sum("g_2of2", 1)),
            TestRequests.sum("g", 1)
        };
        assertThat(batches(new Fusion(1_000, 1_000, true), all))
                .containsExactly(List.of(0, 1, 2, 3, 4));
        assertThat(batches(new Fusion(1_000, 1_000, false), all))
                .containsExactly(List.of(0), List.of(1, 3), List.of(2), List.of(4));
    }
}

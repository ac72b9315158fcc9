package org.horovod4j.runtime.fusion;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.runtime.fusion.Fusion.Item;
import org.horovod4j.runtime.message.Kind;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.message.Requests;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.stream.IntStream;

class FusionTest {
    private static final Request FLOATS = Requests.sum("f", 25);
    private static final Request HALVES =
            Requests.of(Kind.ALLREDUCE, "h", DataType.FLOAT16, Shape.of(50));

    private static List<List<Integer>> batches(long threshold, Request... requests) {
        return batches(new Fusion(threshold, true), requests);
    }

    private static List<List<Integer>> batches(Fusion fusion, Request... requests) {
        return fusion.batches(
                IntStream.range(0, requests.length)
                        .mapToObj(i -> new Item(requests[i], requests[i].byteSize(), 0, 2))
                        .toList());
    }

    @Test
    void tensorsTravelTogetherUpToTheThreshold() {
        assertThat(batches(300, FLOATS, FLOATS, FLOATS, FLOATS))
                .containsExactly(List.of(0, 1, 2), List.of(3));
        assertThat(batches(299, FLOATS, FLOATS, FLOATS)).containsExactly(List.of(0, 1), List.of(2));
    }

    @Test
    void aLargerTensorTravelsAlone() {
        Request large = Requests.sum("large", 1_000);
        assertThat(batches(300, large, FLOATS, FLOATS)).containsExactly(List.of(0), List.of(1, 2));
        assertThat(batches(300, FLOATS, large, FLOATS))
                .containsExactly(List.of(0), List.of(1), List.of(2));
    }

    @Test
    void aThresholdOfZeroFusesNothing() {
        Request empty = Requests.sum("empty", 0);
        assertThat(batches(0, FLOATS, FLOATS, empty, empty))
                .containsExactly(List.of(0), List.of(1), List.of(2), List.of(3));
    }

    @Test
    void anotherTypeInBetweenIsPassedOver() {
        assertThat(batches(1_000, FLOATS, HALVES, FLOATS, HALVES, FLOATS))
                .containsExactly(List.of(0, 2, 4), List.of(1, 3));
    }

    @Test
    void notMoreIsPassedOverThanTheThresholdAllows() {
        assertThat(batches(300, FLOATS, HALVES, HALVES, HALVES, FLOATS))
                .containsExactly(List.of(0), List.of(1, 2, 3), List.of(4));
    }

    @Test
    void onlyLikeTensorsTravelTogether() {
        Request[] all = {
            FLOATS,
            Requests.with(FLOATS, ReduceOp.MAX, Scale.NONE),
            Requests.with(FLOATS, ReduceOp.SUM, Scale.after(2)),
            FLOATS.withShared(true),
            Requests.of(Kind.REDUCESCATTER, "r", DataType.FLOAT32, Shape.of(25)),
            Requests.of(Kind.ALLGATHER, "g", DataType.FLOAT32, Shape.of(25))
        };
        assertThat(batches(10_000, all)).hasSize(all.length);
    }

    @Test
    void broadcastsAndAlltoallsTravelAlone() {
        Request exchange = Requests.of(Kind.ALLTOALL, "t", DataType.INT8, Shape.of(4));
        assertThat(
                        batches(
                                10_000,
                                exchange,
                                exchange,
                                Requests.broadcast("b", 0),
                                Requests.broadcast("c", 0)))
                .hasSize(4);
    }

    @Test
    void segmentsDoNotMix() {
        List<Item> items =
                List.of(
                        new Item(FLOATS, 100, 1, 2),
                        new Item(FLOATS, 100, 2, 2),
                        new Item(FLOATS, 100, 1, 2));
        assertThat(new Fusion(1_000, true).batches(items))
                .containsExactly(List.of(0, 2), List.of(1));
    }

    @Test
    void groupsTravelWithOthersUnlessToldNotTo() {
        Request[] all = {
            Requests.sum("a", 1),
            Requests.sum("g_1of2", 1).inGroup("g"),
            Requests.sum("b", 1),
            Requests.sum("g_2of2", 1).inGroup("g"),
            Requests.sum("g", 1)
        };
        assertThat(batches(new Fusion(1_000, true), all)).containsExactly(List.of(0, 1, 2, 3, 4));
        assertThat(batches(new Fusion(1_000, false), all))
                .containsExactly(List.of(0), List.of(1, 3), List.of(2), List.of(4));
    }
}

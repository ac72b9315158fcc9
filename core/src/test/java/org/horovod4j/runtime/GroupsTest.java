package org.horovod4j.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.horovod4j.testing.TensorAssert.assertThat;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.DataType;
import org.horovod4j.Handle;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.compression.Compression;
import org.horovod4j.compression.TopK;
import org.horovod4j.testing.FewLayouts;
import org.horovod4j.testing.Layout;
import org.horovod4j.testing.ReferenceCollectives;
import org.horovod4j.testing.SampleTensors;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;

class GroupsTest {
    private static final List<Shape> SHAPES =
            List.of(
                    Shape.of(17),
                    Shape.of(3, 5),
                    Shape.of(0, 4),
                    Shape.of(20_011),
                    Shape.of(7, 1, 2));

    /// The input of each rank for each tensor of a group: `inputs.get(tensor).get(rank)`.
    private static List<List<Tensor>> inputs(int ranks, DataType type) {
        return IntStream.range(0, SHAPES.size())
                .mapToObj(i -> SampleTensors.forRanks(ranks, type, SHAPES.get(i), ReduceOp.SUM, i))
                .toList();
    }

    private static List<Tensor> copiesFor(int rank, List<List<Tensor>> inputs) {
        return inputs.stream().map(ranks -> SampleTensors.copy(ranks.get(rank))).toList();
    }

    @FewLayouts
    void eachTensorOfAGroupIsReducedInPlace(Layout layout) {
        List<List<Tensor>> inputs = inputs(layout.size(), DataType.FLOAT32);
        layout.world()
                .run(
                        comm -> {
                            for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.AVERAGE)) {
                                List<Tensor> tensors = copiesFor(comm.rank(), inputs);
                                assertThat(comm.groupedAllreduce("group", tensors, op))
                                        .isEqualTo(tensors);
                                for (int i = 0; i < tensors.size(); i++) {
                                    assertThat(tensors.get(i))
                                            .isBitwiseEqualTo(
                                                    ReferenceCollectives.allreduce(
                                                            inputs.get(i), op, Scale.NONE));
                                }
                            }
                        });
    }

    @FewLayouts
    void scaleAppliesToEachTensorOfAGroup(Layout layout) {
        List<List<Tensor>> inputs = inputs(layout.size(), DataType.INT32);
        Scale scale = new Scale(2, 0.5);
        layout.world()
                .run(
                        comm -> {
                            List<Tensor> tensors = copiesFor(comm.rank(), inputs);
                            Handle<List<Tensor>> handle =
                                    comm.groupedAllreduceAsync(
                                            "group",
                                            tensors,
                                            AllreduceOptions.sum().withScale(scale));
                            for (int i = 0; i < tensors.size(); i++) {
                                assertThat(handle.join().get(i))
                                        .isBitwiseEqualTo(
                                                ReferenceCollectives.allreduce(
                                                        inputs.get(i), ReduceOp.SUM, scale));
                            }
                        });
    }

    @FewLayouts
    void eachTensorOfAGroupIsGathered(Layout layout) {
        List<List<Tensor>> inputs = inputs(layout.size(), DataType.INT16);
        layout.world()
                .run(
                        comm -> {
                            List<Tensor> joined =
                                    comm.groupedAllgather("group", copiesFor(comm.rank(), inputs));
                            for (int i = 0; i < joined.size(); i++) {
                                assertThat(joined.get(i))
                                        .isBitwiseEqualTo(
                                                ReferenceCollectives.allgather(inputs.get(i)));
                            }
                        });
    }

    @FewLayouts
    void eachTensorOfAGroupIsReducedAndScattered(Layout layout) {
        List<List<Tensor>> inputs = inputs(layout.size(), DataType.FLOAT64);
        layout.world()
                .run(
                        comm -> {
                            List<Tensor> shares =
                                    comm.groupedReducescatter(
                                            "group", copiesFor(comm.rank(), inputs), ReduceOp.SUM);
                            for (int i = 0; i < shares.size(); i++) {
                                Tensor reduced =
                                        ReferenceCollectives.allreduce(
                                                inputs.get(i), ReduceOp.SUM, Scale.NONE);
                                assertThat(shares.get(i))
                                        .isBitwiseEqualTo(
                                                ReferenceCollectives.reducescatterPart(
                                                        reduced, comm.rank(), comm.size()));
                            }
                        });
    }

    @FewLayouts
    void groupThatIsEmptyOnAllRanksHasNoResults(Layout layout) {
        AllreduceOptions compressed = AllreduceOptions.sum().withCompressor(TopK.ratio(0.5));
        layout.world()
                .run(
                        comm -> {
                            List<Tensor> none = List.of();
                            assertThat(comm.groupedAllreduce("none", none, ReduceOp.AVERAGE))
                                    .isEmpty();
                            assertThat(comm.groupedAllreduce("none", none, compressed)).isEmpty();
                            assertThat(comm.groupedAllgather("none", none)).isEmpty();
                            assertThat(comm.groupedReducescatter("none", none, ReduceOp.SUM))
                                    .isEmpty();
                        });
    }

    @Test
    void theNamesOfAGroupAreInFlightTogether() {
        CountDownLatch refused = new CountDownLatch(1);
        World.run(
                2,
                comm -> {
                    Tensor a = Tensor.of(new int[] {1});
                    Tensor b = Tensor.of(new int[] {2});
                    if (comm.rank() == 1) {
                        refused.await();
                    }
                    Handle<List<Tensor>> group =
                            comm.groupedAllreduceAsync("group", List.of(a, b), ReduceOp.SUM);
                    if (comm.rank() == 0) {
                        assertThatThrownBy(() -> comm.groupedAllgatherAsync("group", List.of(a, b)))
                                .isInstanceOf(IllegalArgumentException.class)
                                .hasMessageContaining("'group_1of2' is in flight");
                        refused.countDown();
                    }
                    group.join();
                    assertThat(a.toIntArray()).containsExactly(2);
                    assertThat(b.toIntArray()).containsExactly(4);
                });
    }

    @Test
    void oneInvalidTensorRejectsTheWholeGroup() {
        World.run(
                2,
                comm -> {
                    Tensor good = Tensor.of(new int[] {1});
                    Tensor bad = Tensor.zeros(DataType.INT32, Shape.SCALAR);
                    assertThatThrownBy(() -> comm.groupedAllgather("group", List.of(good, bad)))
                            .isInstanceOf(IllegalArgumentException.class)
                            .hasMessageContaining("'group_2of2'");
                    comm.barrier();
                });
    }

    @Test
    void oneInvalidTensorRejectsTheWholeCompressedGroup() {
        AllreduceOptions compressed = AllreduceOptions.sum().withCompressor(Compression.FP16);
        World.run(
                2,
                comm -> {
                    Tensor good = Tensor.of(new float[] {1});
                    try (Arena arena = Arena.ofConfined()) {
                        if (comm.rank() == 0) {
                            Tensor bad = Tensor.of(arena.allocate(4), DataType.FLOAT32);
                            assertThatThrownBy(
                                            () ->
                                                    comm.groupedAllreduceAsync(
                                                            "group",
                                                            List.of(good, bad),
                                                            compressed))
                                    .isInstanceOf(IllegalArgumentException.class)
                                    .hasMessageContaining("'group_2of2'");
                        }
                    }
                    Tensor other = Tensor.of(new float[] {2});
                    comm.groupedAllreduceAsync("group", List.of(good, other), compressed).join();
                    assertThat(good.toFloatArray()).containsExactly(2);
                    assertThat(other.toFloatArray()).containsExactly(4);
                });
    }
}

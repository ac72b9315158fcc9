package org.horovod4j.collectives;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.horovod4j.testing.TensorAssert.assertThat;

import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Handle;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.testing.EveryLayout;
import org.horovod4j.testing.FewLayouts;
import org.horovod4j.testing.Layout;
import org.horovod4j.testing.SampleTensors;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

class BroadcastTest {
    private static final long SEED = 20_26;

    /// The tensors of all ranks, created once and read by all of them. Each rank should receive the
    /// root's.
    private record Case(List<Tensor> inputs, int rootRank) {
        static Case of(Layout layout, DataType type, Shape shape, int rootRank) {
            return new Case(
                    SampleTensors.forRanks(
                            layout.size(), type, shape, ReduceOp.SUM, SEED + rootRank),
                    rootRank);
        }

        void check(Communicator communicator) {
            Tensor tensor = SampleTensors.copy(inputs.get(communicator.rank()));
            Tensor result = communicator.broadcast("tensor", tensor, rootRank);
            assertThat(result).isSameAs(tensor);
            assertThat(tensor).isBitwiseEqualTo(inputs.get(rootRank));
        }
    }

    private static void checkAll(Layout layout, List<Case> cases) {
        layout.world().run(comm -> cases.forEach(each -> each.check(comm)));
    }

    @EveryLayout
    void anyRootRankBroadcastsItsTensor(Layout layout) {
        List<Case> cases = new ArrayList<>();
        for (int root = 0; root < layout.size(); root++) {
            for (DataType type : DataType.values()) {
                cases.add(Case.of(layout, type, Shape.of(7, 3), root));
            }
        }
        checkAll(layout, cases);
    }

    @EveryLayout
    void anyNumberOfElementsIsBroadcast(Layout layout) {
        List<Case> cases = new ArrayList<>();
        cases.add(Case.of(layout, DataType.FLOAT64, Shape.SCALAR, layout.size() - 1));
        for (long count : new long[] {0, 1, 4_096, 4_099, 10_007, 131_073}) {
            cases.add(Case.of(layout, DataType.FLOAT32, Shape.of(count), 0));
            cases.add(Case.of(layout, DataType.FLOAT32, Shape.of(count), layout.size() / 2));
        }
        checkAll(layout, cases);
    }

    @FewLayouts
    void largeTensorsAreBroadcast(Layout layout) {
        checkAll(
                layout,
                List.of(
                        Case.of(layout, DataType.FLOAT32, Shape.of(1_000_003), 0),
                        Case.of(layout, DataType.UINT8, Shape.of(3_000_017), layout.size() - 1)));
    }

    @FewLayouts
    void concurrentBroadcastsFromDifferentRoots(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            List<Handle<Tensor>> handles = new ArrayList<>();
                            for (int root = 0; root < comm.size(); root++) {
                                Tensor tensor = Tensor.of(new int[] {comm.rank(), -comm.rank()});
                                handles.add(comm.broadcastAsync("from " + root, tensor, root));
                            }
                            for (int root = 0; root < comm.size(); root++) {
                                assertThat(handles.get(root).join().toIntArray())
                                        .containsExactly(root, -root);
                            }
                        });
    }

    @Test
    void invalidRootRankFailsOnTheCallingRank() {
        World.run(
                2,
                comm -> {
                    Tensor tensor = Tensor.of(new float[] {1});
                    for (int root : new int[] {-1, 2}) {
                        assertThatThrownBy(() -> comm.broadcast("weights", tensor, root))
                                .isInstanceOf(IllegalArgumentException.class)
                                .hasMessageContaining("'weights'")
                                .hasMessageContaining("root rank " + root)
                                .hasMessageContaining("from 0 to 1");
                    }
                    comm.broadcast("weights", tensor, 1);
                });
    }
}

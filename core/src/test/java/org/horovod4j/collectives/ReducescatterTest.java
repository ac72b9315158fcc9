package org.horovod4j.collectives;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.horovod4j.testing.TensorAssert.assertThat;

import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.ReducescatterOptions;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.testing.EveryLayout;
import org.horovod4j.testing.FewLayouts;
import org.horovod4j.testing.Layout;
import org.horovod4j.testing.ReferenceCollectives;
import org.horovod4j.testing.SampleTensors;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

class ReducescatterTest {
    /// The tensors of all ranks, and the complete reduced tensor.
    private record Case(List<Tensor> inputs, ReduceOp op, Scale scale, Tensor reduced) {
        static Case of(int ranks, DataType type, Shape shape, ReduceOp op, Scale scale) {
            List<Tensor> inputs = SampleTensors.forRanks(ranks, type, shape, op, 11);
            return new Case(inputs, op, scale, ReferenceCollectives.allreduce(inputs, op, scale));
        }

        void check(Communicator communicator) {
            Tensor original = inputs.get(communicator.rank());
            Tensor input = SampleTensors.copy(original);
            Tensor share =
                    communicator.reducescatter(
                            "rows", input, ReducescatterOptions.of(op).withScale(scale));
            assertThat(share)
                    .isBitwiseEqualTo(
                            ReferenceCollectives.reducescatterPart(
                                    reduced, communicator.rank(), communicator.size()));
            assertThat(input).isBitwiseEqualTo(original);
        }
    }

    private static void checkAll(Layout layout, List<Case> cases) {
        layout.world().run(comm -> cases.forEach(each -> each.check(comm)));
    }

    @EveryLayout
    void everyTypeIsReducedAndScatteredByRows(Layout layout) {
        List<Case> cases = new ArrayList<>();
        for (DataType type : DataType.values()) {
            for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.AVERAGE)) {
                if (type != DataType.BOOL || op == ReduceOp.SUM) {
                    Shape shape = Shape.of(4L * layout.size(), 3);
                    cases.add(Case.of(layout.size(), type, shape, op, Scale.NONE));
                }
            }
        }
        checkAll(layout, cases);
    }

    @EveryLayout
    void theFirstRanksGetOneRowMoreWhereRowsDoNotDivide(Layout layout) {
        int ranks = layout.size();
        List<Case> cases = new ArrayList<>();
        for (long rows : new long[] {0, 1, ranks - 1, ranks + 1, 4L * ranks + ranks / 2, 10_007}) {
            Shape shape = Shape.of(rows, 5);
            cases.add(Case.of(ranks, DataType.FLOAT32, shape, ReduceOp.SUM, Scale.NONE));
        }
        checkAll(layout, cases);
    }

    @FewLayouts
    void largeTensorsAreReducedAndScattered(Layout layout) {
        Shape shape = Shape.of(1_000_003);
        checkAll(
                layout,
                List.of(
                        Case.of(layout.size(), DataType.FLOAT32, shape, ReduceOp.SUM, Scale.NONE),
                        Case.of(
                                layout.size(),
                                DataType.INT8,
                                shape,
                                ReduceOp.AVERAGE,
                                Scale.NONE)));
    }

    @FewLayouts
    void factorsApplyBeforeAndAfter(Layout layout) {
        List<Case> cases = new ArrayList<>();
        for (DataType type : List.of(DataType.FLOAT32, DataType.BFLOAT16, DataType.INT32)) {
            for (Scale scale : List.of(Scale.before(0.5), Scale.after(4), new Scale(2, -0.25))) {
                cases.add(Case.of(layout.size(), type, Shape.of(1_009), ReduceOp.SUM, scale));
                cases.add(Case.of(layout.size(), type, Shape.of(10_007), ReduceOp.SUM, scale));
            }
        }
        checkAll(layout, cases);
    }

    @Test
    void scalarsAndUnsupportedOpsAreRejected() {
        World.run(
                2,
                comm -> {
                    Tensor scalar = Tensor.zeros(DataType.FLOAT32, Shape.SCALAR);
                    assertThatThrownBy(() -> comm.reducescatter("loss", scalar, ReduceOp.SUM))
                            .isInstanceOf(IllegalArgumentException.class)
                            .hasMessageContaining("reducescatter of 'loss'");
                    Tensor rows = Tensor.of(new float[] {1, 2});
                    for (ReduceOp op : List.of(ReduceOp.MIN, ReduceOp.MAX, ReduceOp.PRODUCT)) {
                        assertThatThrownBy(() -> comm.reducescatter("rows", rows, op))
                                .isInstanceOf(IllegalArgumentException.class)
                                .hasMessageContaining("AVERAGE or SUM, not " + op);
                    }
                    float expected = comm.rank() == 0 ? 2 : 4;
                    assertThat(comm.reducescatter("rows", rows, ReduceOp.SUM).toFloatArray())
                            .containsExactly(expected);
                });
    }
}

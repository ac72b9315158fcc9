package org.horovod4j.collectives;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.horovod4j.testing.TensorAssert.assertThat;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.testing.EveryLayout;
import org.horovod4j.testing.FewLayouts;
import org.horovod4j.testing.Layout;
import org.horovod4j.testing.ReferenceCollectives;
import org.horovod4j.testing.SampleTensors;
import org.horovod4j.testing.World;
import org.horovod4j.testsupport.SlowCases;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

class AllreduceTest {
    private static final long SEED = 20_25;

    /// The tensors of all ranks and the expected result. Created once, read by all ranks.
    private record Case(
            String name, List<Tensor> inputs, ReduceOp op, Scale scale, Tensor expected) {
        static Case of(int ranks, DataType type, Shape shape, ReduceOp op, Scale scale) {
            List<Tensor> inputs = SampleTensors.forRanks(ranks, type, shape, op, SEED);
            return new Case(
                    "%s of %s%s".formatted(op, type, shape),
                    inputs,
                    op,
                    scale,
                    ReferenceCollectives.allreduce(inputs, op, scale));
        }

        static Case of(int ranks, DataType type, long count, ReduceOp op) {
            return of(ranks, type, Shape.of(count), op, Scale.NONE);
        }

        void check(Communicator communicator) {
            Tensor tensor = SampleTensors.copy(inputs.get(communicator.rank()));
            communicator.allreduce(name, tensor, AllreduceOptions.of(op).withScale(scale));
            assertThat(tensor).as(name).isBitwiseEqualTo(expected);
        }
    }

    private static void checkAll(Layout layout, List<Case> cases) {
        layout.world().run(comm -> cases.forEach(each -> each.check(comm)));
    }

    @EveryLayout
    void everyTypeAndOpGivesWhatTheDefinitionSays(Layout layout) {
        List<Case> cases = new ArrayList<>();
        for (DataType type : DataType.values()) {
            for (ReduceOp op : SampleTensors.ELEMENTWISE) {
                if (type != DataType.BOOL || op != ReduceOp.AVERAGE) {
                    cases.add(Case.of(layout.size(), type, 7, op));
                    cases.add(Case.of(layout.size(), type, 1_009, op));
                }
            }
        }
        checkAll(layout, cases);
    }

    @EveryLayout
    void anyNumberOfElementsIsReduced(Layout layout) {
        List<Case> cases = new ArrayList<>();
        for (long count : new long[] {0, 1, 7, 4_096, 10_007, 131_073}) {
            cases.add(Case.of(layout.size(), DataType.FLOAT32, count, ReduceOp.SUM));
            cases.add(Case.of(layout.size(), DataType.INT8, count, ReduceOp.AVERAGE));
        }
        checkAll(layout, cases);
    }

    /// The slices of the last size are kept. Types of two bytes use other loops than larger ones.
    @EveryLayout
    void smallTensorsMayChangeTheirSizeAndType(Layout layout) {
        List<Case> cases = new ArrayList<>();
        for (DataType type : List.of(DataType.FLOAT32, DataType.FLOAT16, DataType.FLOAT32)) {
            for (long count : new long[] {2, 2, 2, 300, 1, 300, 300, 300, 4, 2}) {
                cases.add(Case.of(layout.size(), type, count, ReduceOp.SUM));
            }
        }
        checkAll(layout, cases);
    }

    /// One of them has more bytes than the fusion threshold.
    @FewLayouts
    void largeTensorsAreReduced(Layout layout) {
        int ranks = layout.size();
        long large = SlowCases.ENABLED ? 3_000_017 : 1_100_009;
        checkAll(
                layout,
                List.of(
                        Case.of(ranks, DataType.FLOAT32, 700_001, ReduceOp.SUM),
                        Case.of(ranks, DataType.FLOAT64, large, ReduceOp.AVERAGE),
                        Case.of(ranks, DataType.UINT16, 700_001, ReduceOp.SUM)));
    }

    @FewLayouts
    void shapesOfNoneToThreeDimensionsAreKept(Layout layout) {
        List<Case> cases = new ArrayList<>();
        for (Shape shape :
                List.of(Shape.SCALAR, Shape.of(17), Shape.of(17, 3), Shape.of(5, 1, 7))) {
            cases.add(Case.of(layout.size(), DataType.FLOAT32, shape, ReduceOp.SUM, Scale.NONE));
        }
        checkAll(layout, cases);
    }

    @FewLayouts
    void factorsApplyBeforeAndAfter(Layout layout) {
        List<Case> cases = new ArrayList<>();
        for (DataType type : DataType.values()) {
            if (type != DataType.BOOL) {
                for (Scale scale :
                        List.of(Scale.before(0.5), Scale.after(0.25), new Scale(4, -0.5))) {
                    for (long count : new long[] {0, 7, 10_007}) {
                        cases.add(
                                Case.of(layout.size(), type, Shape.of(count), ReduceOp.SUM, scale));
                    }
                }
            }
        }
        checkAll(layout, cases);
    }

    @FewLayouts
    void inexactFactorsStayWithinPrecision(Layout layout) {
        Scale thirds = new Scale(1 / 3.0, 1.7);
        layout.world()
                .run(
                        comm -> {
                            for (DataType type : List.of(DataType.FLOAT16, DataType.BFLOAT16)) {
                                isWithin(0.05, type, thirds, comm);
                            }
                            isWithin(1e-5, DataType.FLOAT32, thirds, comm);
                            isWithin(1e-14, DataType.FLOAT64, thirds, comm);
                        });
    }

    private static void isWithin(
            double tolerance, DataType type, Scale scale, Communicator communicator) {
        List<Tensor> inputs =
                SampleTensors.forRanks(
                        communicator.size(), type, Shape.of(997), ReduceOp.SUM, SEED);
        Tensor tensor = SampleTensors.copy(inputs.get(communicator.rank()));
        communicator.allreduce("rounded", tensor, AllreduceOptions.sum().withScale(scale));
        assertThat(tensor)
                .isWithin(tolerance, ReferenceCollectives.allreduce(inputs, ReduceOp.SUM, scale));
    }

    @FewLayouts
    void averageOfEqualFloatsIsExactAndIntegersTruncateTowardZero(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            float[] equal = {1.25f, -3.5f, 0};
                            comm.allreduce("equal", equal, ReduceOp.AVERAGE);
                            assertThat(equal).containsExactly(1.25f, -3.5f, 0);

                            boolean first = comm.rank() == 0;
                            int almost = comm.size() - 1;
                            int[] small = {first ? almost : 0, first ? -almost : 0};
                            comm.allreduce("small", Tensor.of(small), ReduceOp.AVERAGE);
                            int lone = comm.size() == 1 ? almost : 0;
                            assertThat(small).containsExactly(lone, -lone);
                        });
    }

    @FewLayouts
    void theResultOfOneReductionIsTheInputOfTheNext(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            float[] tensor = {1, 2, 3};
                            comm.allreduce("tensor", tensor, ReduceOp.SUM);
                            comm.allreduce("tensor", tensor, ReduceOp.SUM);
                            float square = comm.size() * comm.size();
                            assertThat(tensor).containsExactly(square, 2 * square, 3 * square);
                        });
    }

    @FewLayouts
    void separateOutputLeavesInputUnchanged(Layout layout) {
        for (long count : new long[] {3, 20_011, 600_011}) {
            Case each = Case.of(layout.size(), DataType.FLOAT32, count, ReduceOp.SUM);
            layout.world()
                    .run(
                            comm -> {
                                Tensor original = each.inputs.get(comm.rank());
                                Tensor input = SampleTensors.copy(original);
                                Tensor output = Tensor.zeros(DataType.FLOAT32, Shape.of(count));
                                Tensor result =
                                        comm.allreduce("t", input, output, AllreduceOptions.sum());
                                assertThat(result).isSameAs(output);
                                assertThat(output).isBitwiseEqualTo(each.expected);
                                assertThat(input).isBitwiseEqualTo(original);
                            });
        }
    }

    @EveryLayout
    void sharedTensorsAreReducedInPlace(Layout layout) {
        List<Case> cases = new ArrayList<>();
        for (long count : new long[] {0, 1, 10_007, 300_007}) {
            cases.add(Case.of(layout.size(), DataType.FLOAT32, count, ReduceOp.SUM));
            cases.add(
                    Case.of(
                            layout.size(),
                            DataType.INT16,
                            Shape.of(count),
                            ReduceOp.AVERAGE,
                            Scale.before(0.5)));
        }
        layout.world()
                .run(
                        comm -> {
                            for (Case each : cases) {
                                Tensor tensor =
                                        SampleTensors.shared(comm, each.inputs.get(comm.rank()));
                                comm.allreduce(
                                        each.name,
                                        tensor,
                                        AllreduceOptions.of(each.op).withScale(each.scale));
                                assertThat(tensor).as(each.name).isBitwiseEqualTo(each.expected);
                            }
                        });
    }

    @FewLayouts
    void ranksMayUseDifferentKindsOfMemory(Layout layout) {
        List<Case> cases = new ArrayList<>();
        for (long count : new long[] {3, 5_003, 100_003, 700_001}) {
            cases.add(Case.of(layout.size(), DataType.FLOAT32, count, ReduceOp.SUM));
        }
        layout.world()
                .run(
                        comm -> {
                            for (Case each : cases) {
                                Tensor input = each.inputs.get(comm.rank());
                                Tensor tensor =
                                        switch (comm.rank() % 3) {
                                            case 0 -> SampleTensors.shared(comm, input);
                                            case 1 -> SampleTensors.onHeap(input);
                                            default -> SampleTensors.copy(input);
                                        };
                                comm.allreduce(each.name, tensor, ReduceOp.SUM);
                                assertThat(tensor).as(each.name).isBitwiseEqualTo(each.expected);
                            }
                        });
    }

    @Test
    void sliceOfSharedTensorIsReducedAtAnyOffset() {
        int count = 50_021;
        Case each = Case.of(3, DataType.FLOAT32, count, ReduceOp.SUM);
        World.of(3)
                .via(World.Transport.SHM)
                .run(
                        comm -> {
                            // Ranks use different, odd offsets in their blocks.
                            long offset = 3 + 8L * comm.rank();
                            Tensor block =
                                    comm.allocate(
                                            DataType.UINT8, Shape.of(offset + 4L * count + 5));
                            block.segment().fill((byte) 0x55);
                            Tensor slice =
                                    Tensor.of(
                                            block.segment().asSlice(offset, 4L * count),
                                            DataType.FLOAT32,
                                            count);
                            slice.segment().copyFrom(each.inputs.get(comm.rank()).segment());
                            comm.allreduce("slice", slice, ReduceOp.SUM);
                            assertThat(slice).isBitwiseEqualTo(each.expected);
                            byte[] bytes = block.toByteArray();
                            assertThat(bytes).startsWith(0x55, 0x55, 0x55);
                            assertThat(bytes).endsWith(0x55, 0x55, 0x55, 0x55, 0x55);
                        });
    }

    @Test
    void boolRejectsAverageAndScale() {
        World.run(
                2,
                comm -> {
                    Tensor bools = Tensor.of(new byte[] {1, 0}, DataType.BOOL);
                    assertThatThrownBy(() -> comm.allreduce("bools", bools, ReduceOp.AVERAGE))
                            .isInstanceOf(IllegalArgumentException.class)
                            .hasMessageContaining("'bools'")
                            .hasMessageContaining("convert it");
                    assertThatThrownBy(
                                    () ->
                                            comm.allreduce(
                                                    "bools",
                                                    bools,
                                                    AllreduceOptions.sum().withPostscale(2)))
                            .isInstanceOf(IllegalArgumentException.class);
                    comm.allreduce("bools", bools, ReduceOp.MAX);
                    assertThat(bools.toByteArray()).containsExactly(1, 0);
                });
    }
}

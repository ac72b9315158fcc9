package org.horovod4j.compression;

import static org.assertj.core.api.Assertions.assertThat;
import static org.horovod4j.testing.TensorAssert.assertThat;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Handle;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.testing.FewLayouts;
import org.horovod4j.testing.Layout;
import org.horovod4j.testing.ReferenceCollectives;
import org.horovod4j.testing.SampleTensors;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.ArrayList;
import java.util.List;

class CompressionTest {
    private static final long SEED = 33;
    private static final List<Shape> SHAPES =
            List.of(Shape.of(0), Shape.SCALAR, Shape.of(3, 7), Shape.of(5_003));

    /// Half a unit in the last of the eight significant bits of `bfloat16`, for averages of at most
    /// 0.5.
    private static final double ROUNDING = 1.0 / 512;

    /// Samples and their sums are exact in every type. Only averages are rounded.
    private record Case(
            Compression compression, List<Tensor> inputs, ReduceOp op, Tensor expected) {
        static Case of(
                int ranks, Compression compression, DataType type, Shape shape, ReduceOp op) {
            List<Tensor> inputs = SampleTensors.forRanks(ranks, type, shape, op, SEED);
            return new Case(
                    compression,
                    inputs,
                    op,
                    ReferenceCollectives.allreduce(inputs, op, Scale.NONE));
        }

        void check(Communicator communicator) {
            Tensor tensor = SampleTensors.copy(inputs.get(communicator.rank()));
            assertThat(
                            communicator.allreduce(
                                    "tensor",
                                    tensor,
                                    AllreduceOptions.of(op).withCompressor(compression)))
                    .isSameAs(tensor);
            if (op == ReduceOp.AVERAGE && tensor.dataType().isFloatingPoint()) {
                assertThat(tensor).as(toString()).isWithin(ROUNDING, expected);
            } else {
                assertThat(tensor).as(toString()).isBitwiseEqualTo(expected);
            }
        }
    }

    @FewLayouts
    void everyDataTypeKeepsTypeAndValues(Layout layout) {
        List<Case> cases = new ArrayList<>();
        for (Compression compression : Compression.values()) {
            for (DataType type : DataType.values()) {
                for (Shape shape : SHAPES) {
                    for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.MAX, ReduceOp.AVERAGE)) {
                        if (type != DataType.BOOL || op != ReduceOp.AVERAGE) {
                            cases.add(Case.of(layout.size(), compression, type, shape, op));
                        }
                    }
                }
            }
        }
        layout.world().run(comm -> cases.forEach(each -> each.check(comm)));
    }

    @ParameterizedTest
    @EnumSource(names = {"FLOAT32", "FLOAT64"})
    void everyMemoryKindIsReducedInPlace(DataType type) {
        List<Tensor> inputs = SampleTensors.forRanks(2, type, Shape.of(4_099), ReduceOp.SUM, SEED);
        Tensor expected = ReferenceCollectives.allreduce(inputs, ReduceOp.SUM, Scale.NONE);
        World.run(
                2,
                comm -> {
                    Tensor input = inputs.get(comm.rank());
                    for (Tensor tensor :
                            List.of(
                                    SampleTensors.copy(input),
                                    SampleTensors.onHeap(input),
                                    SampleTensors.shared(comm, input))) {
                        comm.allreduce(
                                "tensor",
                                tensor,
                                AllreduceOptions.sum().withCompressor(Compression.FP16));
                        assertThat(tensor).isBitwiseEqualTo(expected);
                    }
                });
    }

    @ParameterizedTest
    @CsvSource({"FP16, 1.0002441, 1.0", "BF16, 1.0019531, 1.0", "NONE, 1.0002441, 1.0002441"})
    void valuesAreRoundedToTheSmallerType(Compression compression, float given, float expected) {
        World.run(
                2,
                comm -> {
                    float[] values = {given};
                    comm.allreduce(
                            "tensor",
                            Tensor.of(values),
                            AllreduceOptions.of(ReduceOp.MAX).withCompressor(compression));
                    assertThat(values).containsExactly(expected);
                });
    }

    @ParameterizedTest
    @CsvSource({"FP16, Infinity", "BF16, 131072"})
    void overflowIsVisibleOnEveryRank(Compression compression, float sum) {
        World.run(
                2,
                comm -> {
                    float[] values = {1, 65_536};
                    comm.allreduce(
                            "tensor",
                            Tensor.of(values, 2),
                            AllreduceOptions.sum().withCompressor(compression));
                    assertThat(values[1]).isEqualTo(sum);
                });
    }

    @Test
    void manyTensorsCanBeInFlight() {
        World.run(
                3,
                comm -> {
                    List<Handle<Tensor>> handles = new ArrayList<>();
                    for (int i = 0; i < 50; i++) {
                        Tensor tensor = Tensor.of(new float[] {comm.rank() + i});
                        handles.add(
                                comm.allreduceAsync(
                                        "tensor " + i,
                                        tensor,
                                        AllreduceOptions.sum().withCompressor(Compression.FP16)));
                    }
                    for (int i = 0; i < handles.size(); i++) {
                        assertThat(handles.get(i).join().toFloatArray()).containsExactly(3 + 3 * i);
                    }
                });
    }
}

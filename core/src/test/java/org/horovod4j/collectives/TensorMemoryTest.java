package org.horovod4j.collectives;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.horovod4j.testing.TensorAssert.assertThat;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.AlltoallOptions;
import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.ReducescatterOptions;
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
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.List;

/// Collectives work on any memory of the caller, and access no other memory.
class TensorMemoryTest {
    private static final byte MARK = 0x5a;

    @FewLayouts
    void arraysOfEveryPrimitiveTypeAreReducedInPlace(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            int size = comm.size();
                            float[] floats = {1, 2};
                            double[] doubles = {1, 2};
                            comm.allreduce("floats", floats, ReduceOp.SUM);
                            comm.allreduce("doubles", doubles, ReduceOp.SUM);
                            assertThat(floats).containsExactly(size, 2 * size);
                            assertThat(doubles).containsExactly(size, 2 * size);

                            int[] ints = {1, 2};
                            long[] longs = {1, 2};
                            short[] shorts = {1, 2};
                            byte[] bytes = {1, 2};
                            List<Tensor> views =
                                    List.of(
                                            Tensor.of(ints),
                                            Tensor.of(longs),
                                            Tensor.of(shorts),
                                            Tensor.of(bytes));
                            comm.groupedAllreduce("views", views, ReduceOp.SUM);
                            assertThat(ints).containsExactly(size, 2 * size);
                            assertThat(longs).containsExactly(size, 2L * size);
                            assertThat(shorts).containsExactly((short) size, (short) (2 * size));
                            assertThat(bytes).containsExactly(size, 2 * size);
                        });
    }

    @FewLayouts
    void buffersAreReducedBetweenTheirPositionAndTheirLimit(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            for (int length : new int[] {5, 10_007, 400_009}) {
                                reducesPartOf(ByteBuffer.allocate(4 * length + 8), comm);
                                reducesPartOf(ByteBuffer.allocateDirect(4 * length + 8), comm);
                            }
                        });
    }

    /// All but the first and the last float.
    private static void reducesPartOf(ByteBuffer bytes, Communicator communicator) {
        FloatBuffer floats = bytes.order(ByteOrder.nativeOrder()).asFloatBuffer();
        for (int i = 0; i < floats.capacity(); i++) {
            floats.put(i, 1);
        }
        floats.position(1).limit(floats.capacity() - 1);
        communicator.allreduce("buffer", Tensor.of(floats, DataType.FLOAT32), ReduceOp.SUM);
        floats.clear();
        assertThat(floats.get(0)).isEqualTo(1);
        assertThat(floats.get(1)).isEqualTo(communicator.size());
        assertThat(floats.get(floats.capacity() - 2)).isEqualTo(communicator.size());
        assertThat(floats.get(floats.capacity() - 1)).isEqualTo(1);
    }

    @FewLayouts
    void unalignedSlicesAreReducedWithoutTouchingNeighbours(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            for (long count : new long[] {0, 1, 7, 10_007}) {
                                inSlices(comm, DataType.FLOAT64, count);
                                inSlices(comm, DataType.BFLOAT16, count);
                            }
                            inSlices(comm, DataType.FLOAT32, 300_007);
                        });
    }

    private static void inSlices(Communicator communicator, DataType type, long count) {
        List<Tensor> inputs =
                SampleTensors.forRanks(
                        communicator.size(), type, Shape.of(count), ReduceOp.SUM, count);
        Tensor mine = inputs.get(communicator.rank());

        Slice reduced = new Slice(mine, 3 + communicator.rank());
        communicator.allreduce("reduced", reduced.tensor, ReduceOp.SUM);
        reduced.isExactly(ReferenceCollectives.allreduce(inputs, ReduceOp.SUM, Scale.NONE));

        Slice root = new Slice(mine, 1);
        communicator.broadcast("spread", root.tensor, communicator.size() - 1);
        root.isExactly(inputs.getLast());

        Slice joined = new Slice(mine, 5);
        assertThat(communicator.allgather("joined", joined.tensor))
                .isBitwiseEqualTo(ReferenceCollectives.allgather(inputs));
        joined.isExactly(mine);
    }

    /// A copy of a tensor within a larger segment.
    private static final class Slice {
        private static final int AFTER = 7;

        private final MemorySegment whole;
        private final long before;
        private final Tensor tensor;

        Slice(Tensor content, long before) {
            this.before = before;
            this.whole = Arena.ofAuto().allocate(before + content.byteSize() + AFTER);
            whole.fill(MARK);
            MemorySegment part = whole.asSlice(before, content.byteSize());
            part.copyFrom(content.segment());
            this.tensor = Tensor.of(part, content.dataType(), content.shape());
        }

        void isExactly(Tensor expected) {
            assertThat(tensor).isBitwiseEqualTo(expected);
            assertThat(whole.asSlice(0, before).toArray(ValueLayout.JAVA_BYTE)).containsOnly(MARK);
            assertThat(whole.asSlice(whole.byteSize() - AFTER).toArray(ValueLayout.JAVA_BYTE))
                    .containsOnly(MARK);
        }
    }

    @FewLayouts
    void confinedArenaIsAcceptedBySynchronousCallsOnly(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            try (Arena arena = Arena.ofConfined()) {
                                for (long count : new long[] {3, 400_009}) {
                                    confined(comm, arena.allocate(4 * count, 4));
                                }
                            }
                        });
    }

    private static void confined(Communicator communicator, MemorySegment memory) {
        Tensor tensor = Tensor.of(memory, DataType.INT32);
        memory.set(ValueLayout.JAVA_INT, 0, 1);
        communicator.allreduce("t", tensor, ReduceOp.SUM);
        assertThat(memory.get(ValueLayout.JAVA_INT, 0)).isEqualTo(communicator.size());
        communicator.broadcast("t", tensor, 0);
        communicator.allgather("t", tensor);
        communicator.alltoall("t", tensor, AlltoallOptions.splits(new int[communicator.size()]));
        communicator.reducescatter("t", tensor, ReduceOp.SUM);
        int[] none = new int[communicator.size()];
        refusesConfined(() -> communicator.allreduceAsync("t", tensor, ReduceOp.SUM));
        refusesConfined(() -> communicator.broadcastAsync("t", tensor, 0));
        refusesConfined(() -> communicator.allgatherAsync("t", tensor));
        refusesConfined(
                () -> communicator.alltoallAsync("t", tensor, AlltoallOptions.splits(none)));
        refusesConfined(() -> communicator.reducescatterAsync("t", tensor, ReduceOp.SUM));
        refusesConfined(() -> communicator.groupedAllreduce("t", List.of(tensor), ReduceOp.SUM));
    }

    @FewLayouts
    void confinedArenaIsAcceptedWithAProcessSetOrACompressor(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            try (Arena arena = Arena.ofConfined()) {
                                confinedWithOptions(comm, arena);
                            }
                        });
    }

    private static void confinedWithOptions(Communicator communicator, Arena arena) {
        ProcessSet set = communicator.processSet();
        float size = communicator.size();
        Tensor input = Tensor.of(arena.allocateFrom(ValueLayout.JAVA_FLOAT, 1), DataType.FLOAT32);
        Tensor output = Tensor.of(arena.allocateFrom(ValueLayout.JAVA_FLOAT, 0), DataType.FLOAT32);
        for (AllreduceOptions options :
                List.of(
                        AllreduceOptions.sum().in(set),
                        AllreduceOptions.sum().withCompressor(Compression.FP16),
                        AllreduceOptions.sum().withCompressor(TopK.ratio(1)).in(set))) {
            output.segment().fill((byte) 0);
            assertThat(communicator.allreduce("t", input, output, options)).isSameAs(output);
            assertThat(output.toFloatArray()).containsExactly(size);
            assertThat(input.toFloatArray()).containsExactly(1);
        }
        communicator.allreduce(
                "t", output, AllreduceOptions.average().withCompressor(Compression.BF16));
        assertThat(output.toFloatArray()).containsExactly(size);
        AlltoallOptions splits = AlltoallOptions.splits(new int[communicator.size()]);
        assertThat(communicator.alltoall("t", input, splits.in(set)).tensor().elementCount())
                .isZero();
        communicator.reducescatter("t", input, ReducescatterOptions.sum().in(set));
    }

    private static void refusesConfined(Runnable call) {
        assertThatThrownBy(call::run)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("confined arena")
                .hasMessageContaining("shared or automatic arena");
    }

    @Test
    void synchronousCallAfterAsynchronousOneAcceptsConfinedArena() {
        World.run(
                2,
                comm -> {
                    try (Arena arena = Arena.ofConfined()) {
                        Tensor large = Tensor.zeros(DataType.FLOAT32, Shape.of(3_000_017));
                        comm.allreduceAsync("large", large, ReduceOp.SUM);
                        MemorySegment memory = arena.allocate(4, 4);
                        memory.set(ValueLayout.JAVA_INT, 0, 1);
                        comm.allreduce("t", Tensor.of(memory, DataType.INT32), ReduceOp.SUM);
                        assertThat(memory.get(ValueLayout.JAVA_INT, 0)).isEqualTo(2);
                    }
                });
    }

    @Test
    void overlappingOrWronglySizedOutputIsRejected() {
        World.run(
                2,
                comm -> {
                    MemorySegment memory = Arena.ofAuto().allocate(16, 4);
                    Tensor input = Tensor.of(memory.asSlice(0, 12), DataType.FLOAT32);
                    Tensor shifted = Tensor.of(memory.asSlice(4, 12), DataType.FLOAT32);
                    refusesOutput(comm, input, shifted, "overlap");
                    refusesOutput(comm, input, Tensor.of(new int[3]), "int32");
                    refusesOutput(comm, input, Tensor.of(new float[4]), "[4]");
                    refusesOutput(comm, input, Tensor.of(new float[3], 3, 1), "[3, 1]");
                    Tensor again = Tensor.of(memory.asSlice(0, 12), DataType.FLOAT32);
                    comm.allreduce("t", input, again, AllreduceOptions.sum());
                });
    }

    private static void refusesOutput(
            Communicator communicator, Tensor input, Tensor output, String reason) {
        assertThatThrownBy(() -> communicator.allreduce("t", input, output, AllreduceOptions.sum()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("allreduce of 't'")
                .hasMessageContaining(reason);
    }
}

package org.horovod4j.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.runtime.message.CollectiveKind;
import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

class ArgumentChecksTest {
    private static final Tensor FLOATS = Tensor.of(new float[4]);

    private static void assertRejected(ThrowingCallable check, String message) {
        assertThatThrownBy(check)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(message);
    }

    @Test
    void onlyMemoryOfAConfinedArenaIsConfined() {
        try (Arena confined = Arena.ofConfined();
                Arena shared = Arena.ofShared()) {
            Tensor mine = Tensor.of(confined.allocate(4), DataType.FLOAT32);
            assertThat(ArgumentChecks.isConfined(mine)).isTrue();
            assertRejected(
                    () -> ArgumentChecks.checkNotConfined("t", mine), "'t' lies in a confined");
            for (MemorySegment memory :
                    new MemorySegment[] {
                        shared.allocate(4), Arena.ofAuto().allocate(4), Arena.global().allocate(4)
                    }) {
                Tensor tensor = Tensor.of(memory, DataType.FLOAT32);
                assertThat(ArgumentChecks.isConfined(tensor)).isFalse();
            }
        }
        assertThatCode(() -> ArgumentChecks.checkNotConfined("t", FLOATS))
                .doesNotThrowAnyException();
    }

    @Test
    void reductionThatIsUndefinedForItsTypeIsRejectedByName() {
        Tensor bools = Tensor.zeros(DataType.BOOL, Shape.of(2));
        Tensor ints = Tensor.of(new int[2]);
        assertRejected(
                () ->
                        ArgumentChecks.checkReducible(
                                CollectiveKind.REDUCESCATTER,
                                "t",
                                bools,
                                ReduceOp.AVERAGE,
                                Scale.NONE),
                "reducescatter of 't': a bool tensor has no average");
        assertRejected(
                () ->
                        ArgumentChecks.checkReducible(
                                CollectiveKind.ALLREDUCE, "t", bools, ReduceOp.MAX, Scale.after(2)),
                "allreduce of 't': a bool tensor");
        assertRejected(
                () ->
                        ArgumentChecks.checkReducible(
                                CollectiveKind.ALLREDUCE, "t", ints, ReduceOp.ADASUM, Scale.NONE),
                "allreduce of 't': Adasum is for floating-point types, not int32");
        assertThatCode(
                        () ->
                                ArgumentChecks.checkReducible(
                                        CollectiveKind.ALLREDUCE,
                                        "t",
                                        bools,
                                        ReduceOp.MAX,
                                        Scale.NONE))
                .doesNotThrowAnyException();
    }

    @Test
    void outputIsTheInputOrEqualInShapeAndApart() {
        Tensor other = Tensor.of(new float[4], 2, 2);
        assertRejected(
                () -> ArgumentChecks.checkOutput("t", FLOATS, other),
                "allreduce of 't': input is " + FLOATS + ", but output is " + other);
        MemorySegment memory = Arena.ofAuto().allocate(24, 4);
        Tensor low = Tensor.of(memory.asSlice(0, 16), DataType.FLOAT32);
        Tensor high = Tensor.of(memory.asSlice(8, 16), DataType.FLOAT32);
        assertRejected(() -> ArgumentChecks.checkOutput("t", low, high), "overlap");
        assertThatCode(() -> ArgumentChecks.checkOutput("t", low, FLOATS))
                .doesNotThrowAnyException();
    }
}

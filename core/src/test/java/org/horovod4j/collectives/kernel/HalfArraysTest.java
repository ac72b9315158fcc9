package org.horovod4j.collectives.kernel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.DataType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.lang.foreign.MemorySegment;
import java.util.SplittableRandom;

class HalfArraysTest {
    private static final int ALL = 1 << 16;

    @ParameterizedTest
    @EnumSource(names = {"FLOAT16", "BFLOAT16"})
    void everyTwoByteValueRoundTripsThroughFloat(DataType type) {
        short[] all = new short[ALL];
        for (int i = 0; i < ALL; i++) {
            all[i] = (short) i;
        }
        float[] wide = new float[ALL];
        short[] back = new short[ALL];
        HalfArrays.widen(type, all, wide, ALL);
        HalfArrays.narrow(type, wide, back, ALL);
        for (int i = 0; i < ALL; i++) {
            if (!Float.isNaN(wide[i])) {
                assertThat(back[i]).isEqualTo(all[i]);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"FLOAT16", "BFLOAT16"})
    void roundingMatchesTheKernels(DataType type) {
        SplittableRandom random = new SplittableRandom(16);
        float[] wide = new float[100_003];
        for (int i = 0; i < wide.length; i++) {
            wide[i] = Float.intBitsToFloat(random.nextInt());
        }
        short[] narrow = new short[wide.length];
        HalfArrays.narrow(type, wide, narrow, wide.length);
        short[] expected = new short[wide.length];
        HalfConverter scalar =
                type == DataType.FLOAT16 ? new Float16Loops.Scalar() : new BFloat16Loops.Scalar();
        scalar.narrow(wide, MemorySegment.ofArray(expected));
        assertThat(narrow).isEqualTo(expected);
    }

    @Test
    void otherTypesAreRejected() {
        assertThatThrownBy(() -> HalfArrays.widen(DataType.INT16, new short[1], new float[1], 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("int16");
    }
}

package org.horovod4j.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.testing.Layout;
import org.horovod4j.testing.MultiRankLayouts;

import java.util.Arrays;
import java.util.List;

/// Averages of integers whose sum does not fit in their type.
class IntegerAverageTest {
    /// More elements than one round of a stage or one notice holds.
    private static final int LENGTH = 70_001;

    @MultiRankLayouts
    void averageOfLargestValuesDoesNotWrap(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            for (Tensor tensor : extremes()) {
                                Tensor before = tensor.copy();
                                comm.allreduce("extreme", tensor, ReduceOp.AVERAGE);
                                assertThat(tensor.segment().mismatch(before.segment()))
                                        .as("%s", tensor.dataType())
                                        .isEqualTo(-1);
                            }
                        });
    }

    @MultiRankLayouts
    void groupsAndReducescatterDoNotWrap(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            byte[] values = new byte[LENGTH];
                            Arrays.fill(values, (byte) 100);
                            Tensor first = Tensor.of(values.clone());
                            Tensor second = Tensor.of(new byte[] {-100, -128, 127});
                            comm.groupedAllreduceAsync(
                                            "group",
                                            List.of(first, second),
                                            AllreduceOptions.average())
                                    .join();
                            assertThat(first.toByteArray()).containsOnly(100);
                            assertThat(second.toByteArray()).containsExactly(-100, -128, 127);
                            Tensor part =
                                    comm.reducescatter("part", Tensor.of(values), ReduceOp.AVERAGE);
                            assertThat(part.toByteArray()).containsOnly(100);
                        });
    }

    @MultiRankLayouts
    void scaledAverageIsClampedToItsType(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            Tensor tensor = Tensor.of(new byte[] {100, -100, 30});
                            comm.allreduce(
                                    "scaled", tensor, AllreduceOptions.average().withPrescale(2));
                            assertThat(tensor.toByteArray()).containsExactly(127, -128, 60);
                        });
    }

    /// The largest and smallest value of each integer type but `int64`.
    private static List<Tensor> extremes() {
        byte[] bytes = {Byte.MAX_VALUE, Byte.MIN_VALUE, -1, 0, 100};
        short[] shorts = {Short.MAX_VALUE, Short.MIN_VALUE, -1, 0, 30_000};
        int[] ints = new int[LENGTH];
        Arrays.setAll(ints, i -> i % 2 == 0 ? Integer.MAX_VALUE - i : Integer.MIN_VALUE + i);
        return List.of(
                Tensor.of(bytes.clone()),
                Tensor.of(bytes.clone(), DataType.UINT8),
                Tensor.of(shorts.clone()),
                Tensor.of(shorts.clone(), DataType.UINT16),
                Tensor.of(ints));
    }
}

package org.horovod4j.collectives.kernel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.testsupport.Processes;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/// Which variant is selected, and what it costs at start-up; in separate JVMs.
class KernelsTest {
    private static final String WITH_VECTORS = "--add-modules=jdk.incubator.vector";

    @Test
    void scalarKernelsWorkWithoutVectorApi() throws Exception {
        assertThat(sumInNewJvm(100_000))
                .contains("scalar kernels; start Java with --add-modules jdk.incubator.vector")
                .contains("sum 3.0");
    }

    @Test
    void smallSumDoesNotLoadVectorApi() throws Exception {
        assertThat(sumInNewJvm(16, WITH_VECTORS, "-Xlog:class+load"))
                .contains("sum 3.0")
                .contains(VectorKernels.class.getName())
                .doesNotContain("jdk.incubator.vector.FloatVector");
    }

    @Test
    void largeSumUsesVectorApi() throws Exception {
        assertThat(sumInNewJvm(100_000, WITH_VECTORS, "-Xlog:class+load"))
                .contains("sum 3.0")
                .contains("vector kernels of ")
                .contains("jdk.incubator.vector.FloatVector");
    }

    @Test
    void outOfBoundsElementsAreRejected() {
        Kernel sum = Kernels.best().kernel(DataType.FLOAT32, ReduceOp.SUM);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment two = arena.allocate(8);
            assertThatThrownBy(() -> sum.combine(two, 0, two, 0, two, 0, 3))
                    .isInstanceOf(IndexOutOfBoundsException.class);
        }
    }

    private static String sumInNewJvm(int count, String... flags)
            throws IOException, InterruptedException {
        return Processes.output(TestJvm.of(Sum.class, Integer.toString(count)).with(flags).words());
    }

    /// Adds 1 and 2 as often as given.
    static final class Sum {
        private Sum() {}

        public static void main(String[] arguments) {
            int count = Integer.parseInt(arguments[0]);
            Kernels kernels = Kernels.best();
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment left = arena.allocate((long) count * Float.BYTES);
                MemorySegment right = arena.allocate((long) count * Float.BYTES);
                RawElements.setAll(DataType.FLOAT32, left, 0, all(count, 1));
                RawElements.setAll(DataType.FLOAT32, right, 0, all(count, 2));
                kernels.kernel(DataType.FLOAT32, ReduceOp.SUM)
                        .combine(left, 0, left, 0, right, 0, count);
                long last = RawElements.get(DataType.FLOAT32, left, (count - 1L) * Float.BYTES);
                System.out.println("sum " + RawElements.value(DataType.FLOAT32, last));
                System.out.println(kernels.description());
            }
        }

        private static long[] all(int count, double value) {
            long[] elements = new long[count];
            Arrays.fill(elements, RawElements.of(DataType.FLOAT32, value));
            return elements;
        }
    }
}

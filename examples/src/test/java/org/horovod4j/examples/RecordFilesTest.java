package org.horovod4j.examples;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDManager;
import ai.djl.training.dataset.Record;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

class RecordFilesTest {
    @Test
    void samplesAreFoundInEveryFile(@TempDir Path folder) throws IOException {
        MnistData mnistData = MnistData.read(Path.of("data", "mnist"), "t10k");
        RecordFiles.write(mnistData, folder, 3000); // the last of four files is shorter
        try (RecordFiles files = RecordFiles.in(folder).setSampling(1, false).build();
                NDManager manager = NDManager.newBaseManager()) {
            assertThat(files.size()).isEqualTo(mnistData.count());
            for (int index : new int[] {0, 2999, 3000, 9999}) {
                Record sample = files.get(manager, index);
                float[] pixels = sample.getData().singletonOrThrow().toFloatArray();
                for (int i = 0; i < pixels.length; i++) {
                    int expected =
                            Byte.toUnsignedInt(
                                    mnistData.pixels().get(index * MnistData.PIXELS + i));
                    assertThat(pixels[i]).isEqualTo(expected / 255f);
                }
                assertThat(sample.getLabels().singletonOrThrow().getFloat())
                        .isEqualTo(mnistData.labels().get(index));
            }
        }
    }

    @Test
    void shiftsDependOnEpochAndNumberOfSampleAlone(@TempDir Path folder) throws IOException {
        RecordFiles.write(MnistData.read(Path.of("data", "mnist"), "t10k"), folder, 10_000);
        AtomicInteger epoch = new AtomicInteger();
        try (RecordFiles plain = RecordFiles.in(folder).setSampling(1, false).build();
                RecordFiles one = shifted(folder, epoch);
                RecordFiles other = shifted(folder, epoch);
                NDManager manager = NDManager.newBaseManager()) {
            Set<List<Integer>> shifts = new HashSet<>();
            for (int index = 299; index >= 0; index--) {
                float[] image = pixels(one, manager, index);
                shifts.add(shift(pixels(plain, manager, index), image));
            }
            assertThat(shifts).hasSize(5 * 5); // all that are possible, -2 to 2 each way

            int equalInNextEpoch = 0;
            for (int index = 0; index < 100; index++) {
                epoch.set(0);
                float[] first = pixels(one, manager, index);
                assertThat(pixels(other, manager, index)).isEqualTo(first);
                epoch.set(1);
                equalInNextEpoch += Arrays.equals(first, pixels(other, manager, index)) ? 1 : 0;
            }
            assertThat(equalInNextEpoch).isLessThan(20); // by chance 4
        }
    }

    private static RecordFiles shifted(Path folder, AtomicInteger epoch) throws IOException {
        return RecordFiles.in(folder).setSampling(1, false).shift(epoch::get).build();
    }

    private static float[] pixels(RecordFiles files, NDManager manager, int index)
            throws IOException {
        return files.get(manager, index).getData().singletonOrThrow().toFloatArray();
    }

    /// Rows down and columns to the right. Looks at the pixels that no shift takes from outside.
    private static List<Integer> shift(float[] from, float[] to) {
        for (int down = -2; down <= 2; down++) {
            for (int right = -2; right <= 2; right++) {
                int distance = 28 * down + right;
                if (IntStream.range(0, 28 * 28)
                        .filter(i -> isInside(i / 28) && isInside(i % 28))
                        .allMatch(i -> from[i - distance] == to[i])) {
                    return List.of(down, right);
                }
            }
        }
        throw new AssertionError("not the same image, shifted");
    }

    private static boolean isInside(int rowOrColumn) {
        return rowOrColumn >= 2 && rowOrColumn < 26;
    }
}

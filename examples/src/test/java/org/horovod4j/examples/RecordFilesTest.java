package org.horovod4j.examples;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDManager;
import ai.djl.training.dataset.Record;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;

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
}

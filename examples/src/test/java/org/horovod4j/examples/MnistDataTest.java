package org.horovod4j.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.zip.GZIPOutputStream;

class MnistDataTest {
    private static final int MAGIC_OF_IMAGES = 2051;
    private static final int MAGIC_OF_LABELS = 2049;

    @TempDir private Path folder;

    @Test
    void readsImagesWithTheirLabels() throws IOException {
        byte[] pixels = new byte[2 * MnistData.PIXELS];
        pixels[MnistData.PIXELS] = (byte) 255;
        pixels[MnistData.PIXELS + 1] = 51;
        write("t10k-images-idx3-ubyte.gz", idx(MAGIC_OF_IMAGES, pixels, 2, 28, 28));
        write("t10k-labels-idx1-ubyte.gz", idx(MAGIC_OF_LABELS, new byte[] {3, 7}, 2));

        MnistData mnistData = MnistData.read(folder, "t10k");

        assertThat(mnistData.count()).isEqualTo(2);
        assertThat(mnistData.label(0)).isEqualTo(3);
        assertThat(mnistData.label(1)).isEqualTo(7);
        float[] batch = new float[3 * MnistData.PIXELS];
        mnistData.copyTo(batch, 2, 1);
        assertThat(Arrays.copyOfRange(batch, 2 * MnistData.PIXELS, 2 * MnistData.PIXELS + 3))
                .containsExactly(1f, 0.2f, 0f);
    }

    @Test
    void repositoryDataIsComplete() throws IOException {
        Path mnist = Path.of("data", "mnist");

        assertThat(MnistData.read(mnist, "train").count()).isEqualTo(60_000);
        assertThat(MnistData.read(mnist, "t10k").count()).isEqualTo(10_000);
    }

    @Test
    void missingFileErrorNamesDataOption() {
        assertThatThrownBy(() -> MnistData.readIdx(folder.resolve("nowhere.gz"), 1))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("nowhere.gz")
                .hasMessageContaining("--data");
    }

    @Test
    void nonGzipFileErrorNamesFile() throws IOException {
        Path file = Files.writeString(folder.resolve("page.gz"), "<html>not found</html>");

        assertThatThrownBy(() -> MnistData.readIdx(file, 1))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("page.gz is not a gzip file");
    }

    @Test
    void labelFileInPlaceOfImagesIsRejected() throws IOException {
        Path file = write("labels.gz", idx(MAGIC_OF_LABELS, new byte[] {3}, 1));

        assertThatThrownBy(() -> MnistData.readIdx(file, 3))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("labels.gz starts with the number 2049")
                .hasMessageContaining("2051");
    }

    @Test
    void fileShorterThanHeaderIsRejected() throws IOException {
        Path file = write("short.gz", idx(MAGIC_OF_LABELS, new byte[] {3, 7}, 3));

        assertThatThrownBy(() -> MnistData.readIdx(file, 1))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("short.gz ends before");
    }

    @Test
    void truncatedGzipIsRejected() throws IOException {
        Path file = write("broken.gz", idx(MAGIC_OF_LABELS, new byte[1000], 1000));
        byte[] whole = Files.readAllBytes(file);
        Files.write(file, Arrays.copyOf(whole, whole.length / 2));

        assertThatThrownBy(() -> MnistData.readIdx(file, 1))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("broken.gz ends before");
    }

    @Test
    void imageAndLabelCountsMustMatch() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new MnistData(new byte[MnistData.PIXELS], new byte[2]))
                .withMessageContaining("2 labels");
    }

    private Path write(String name, byte[] content) throws IOException {
        Path file = folder.resolve(name);
        try (OutputStream out = new GZIPOutputStream(Files.newOutputStream(file))) {
            out.write(content);
        }
        return file;
    }

    private static byte[] idx(int magic, byte[] bytes, int... dimensions) {
        ByteBuffer content =
                ByteBuffer.allocate(Integer.BYTES * (1 + dimensions.length) + bytes.length);
        content.putInt(magic);
        for (int dimension : dimensions) {
            content.putInt(dimension);
        }
        return content.put(bytes).array();
    }
}

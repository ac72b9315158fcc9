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

class DigitsTest {
    private static final int MAGIC_OF_IMAGES = 2051;
    private static final int MAGIC_OF_LABELS = 2049;

    @TempDir private Path folder;

    @Test
    void readsImagesWithTheirLabels() throws IOException {
        byte[] pixels = new byte[2 * Digits.PIXELS];
        pixels[Digits.PIXELS] = (byte) 255;
        pixels[Digits.PIXELS + 1] = 51;
        write("t10k-images-idx3-ubyte.gz", idx(MAGIC_OF_IMAGES, pixels, 2, 28, 28));
        write("t10k-labels-idx1-ubyte.gz", idx(MAGIC_OF_LABELS, new byte[] {3, 7}, 2));

        Digits digits = Digits.read(folder, "t10k");

        assertThat(digits.count()).isEqualTo(2);
        assertThat(digits.label(0)).isEqualTo(3);
        assertThat(digits.label(1)).isEqualTo(7);
        float[] batch = new float[3 * Digits.PIXELS];
        digits.copyTo(batch, 2, 1);
        assertThat(Arrays.copyOfRange(batch, 2 * Digits.PIXELS, 2 * Digits.PIXELS + 3))
                .containsExactly(1f, 0.2f, 0f);
    }

    @Test
    void theDataInTheRepositoryAreComplete() throws IOException {
        Path mnist = Path.of("data", "mnist");

        assertThat(Digits.read(mnist, "train").count()).isEqualTo(60_000);
        assertThat(Digits.read(mnist, "t10k").count()).isEqualTo(10_000);
    }

    @Test
    void aMissingFileNamesTheOption() {
        assertThatThrownBy(() -> Digits.readIdx(folder.resolve("nowhere.gz"), 1))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("nowhere.gz")
                .hasMessageContaining("--data");
    }

    @Test
    void aFileThatIsNotGzipIsNamed() throws IOException {
        Path file = Files.writeString(folder.resolve("page.gz"), "<html>not found</html>");

        assertThatThrownBy(() -> Digits.readIdx(file, 1))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("page.gz is not a gzip file");
    }

    @Test
    void labelsInPlaceOfImagesAreRefused() throws IOException {
        Path file = write("labels.gz", idx(MAGIC_OF_LABELS, new byte[] {3}, 1));

        assertThatThrownBy(() -> Digits.readIdx(file, 3))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("labels.gz starts with the number 2049")
                .hasMessageContaining("2051");
    }

    @Test
    void fewerBytesThanPromisedAreRefused() throws IOException {
        Path file = write("short.gz", idx(MAGIC_OF_LABELS, new byte[] {3, 7}, 3));

        assertThatThrownBy(() -> Digits.readIdx(file, 1))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("short.gz ends before");
    }

    @Test
    void aDownloadThatBrokeOffIsRefused() throws IOException {
        Path file = write("broken.gz", idx(MAGIC_OF_LABELS, new byte[1000], 1000));
        byte[] whole = Files.readAllBytes(file);
        Files.write(file, Arrays.copyOf(whole, whole.length / 2));

        assertThatThrownBy(() -> Digits.readIdx(file, 1))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("broken.gz ends before");
    }

    @Test
    void imagesAndLabelsMustBeAsMany() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Digits(new byte[Digits.PIXELS], new byte[2]))
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

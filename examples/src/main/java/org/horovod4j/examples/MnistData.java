package org.horovod4j.examples;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;

/// The images and labels of MNIST.
///
/// An IDX file is big-endian: a magic number (2048 plus the number of dimensions, for bytes), each
/// dimension as an int, then the bytes.
final class MnistData {
    /// Pixels of one image: 28 rows of 28.
    static final int PIXELS = 28 * 28;

    /// The folder of MNIST in the repository.
    static final Path FOLDER = Path.of("examples", "data", "mnist");

    private static final int IDX_BYTE_MAGIC = 0x800;

    private final byte[] pixels;
    private final byte[] labels;

    MnistData(byte[] pixels, byte[] labels) {
        if (pixels.length != (long) labels.length * PIXELS) {
            throw new IllegalArgumentException(
                    ("%d labels need %d bytes of pixels, but there are %d:"
                                    + " do both files belong to the same set?")
                            .formatted(
                                    labels.length, (long) labels.length * PIXELS, pixels.length));
        }
        this.pixels = pixels;
        this.labels = labels;
    }

    /// Reads the set `train` or `t10k` from the folder with MNIST's four files.
    static MnistData read(Path folder, String set) throws IOException {
        return new MnistData(
                readIdx(folder.resolve(set + "-images-idx3-ubyte.gz"), 3),
                readIdx(folder.resolve(set + "-labels-idx1-ubyte.gz"), 1));
    }

    int count() {
        return labels.length;
    }

    int label(int image) {
        return labels[image];
    }

    /// All images, one after the other; a byte per pixel, 0 for black.
    ByteBuffer pixels() {
        return ByteBuffer.wrap(pixels).asReadOnlyBuffer();
    }

    ByteBuffer labels() {
        return ByteBuffer.wrap(labels).asReadOnlyBuffer();
    }

    /// Writes one image as numbers from 0 to 1 into row `row` of `batch`.
    void copyTo(float[] batch, int row, int image) {
        int from = image * PIXELS;
        int to = row * PIXELS;
        for (int i = 0; i < PIXELS; i++) {
            batch[to + i] = (pixels[from + i] & 0xff) / 255f;
        }
    }

    /// The bytes of a gzipped IDX file with this number of dimensions.
    static byte[] readIdx(Path file, int dimensions) throws IOException {
        try (InputStream raw = Files.newInputStream(file);
                DataInputStream in = new DataInputStream(new GZIPInputStream(raw))) {
            checkMagic(file, IDX_BYTE_MAGIC + dimensions, in.readInt());
            long length = 1;
            for (int i = 0; i < dimensions; i++) {
                length = Math.multiplyExact(length, (long) in.readInt());
            }
            byte[] bytes = new byte[Math.toIntExact(length)];
            in.readFully(bytes);
            return bytes;
        } catch (NoSuchFileException e) {
            throw new IOException(
                    "there is no file %s: name the folder with MNIST's four files by --data"
                            .formatted(file.toAbsolutePath()),
                    e);
        } catch (EOFException e) {
            throw new IOException(
                    "%s ends before the bytes that its header promises: fetch it again"
                            .formatted(file),
                    e);
        } catch (ZipException e) {
            throw new IOException(
                    "%s is not a gzip file, or a damaged one: fetch it again".formatted(file), e);
        }
    }

    private static void checkMagic(Path file, int expected, int found) throws IOException {
        if (found != expected) {
            throw new IOException(
                    ("%s starts with the number %d, but an IDX file of its kind with %d:"
                                    + " is it another file under this name?")
                            .formatted(file, found, expected));
        }
    }
}

package org.horovod4j.examples;

import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.GZIPOutputStream;

/// Files with the first images of MNIST, for a training of a few seconds.
final class MnistSubset {
    private static final Path ALL = Path.of("data", "mnist");

    private MnistSubset() {}

    static void write(Path folder, int training, int test) throws IOException {
        write(folder, "train", training);
        write(folder, "t10k", test);
    }

    private static void write(Path folder, String set, int count) throws IOException {
        MnistData mnistData = MnistData.read(ALL, set);
        Path images = folder.resolve(set + "-images-idx3-ubyte.gz");
        writeIdx(images, mnistData.pixels().limit(count * MnistData.PIXELS), count, 28, 28);
        Path labels = folder.resolve(set + "-labels-idx1-ubyte.gz");
        writeIdx(labels, mnistData.labels().limit(count), count);
    }

    private static void writeIdx(Path file, ByteBuffer bytes, int... dimensions)
            throws IOException {
        byte[] content = new byte[bytes.remaining()];
        bytes.get(content);
        try (DataOutputStream out =
                new DataOutputStream(new GZIPOutputStream(Files.newOutputStream(file)))) {
            out.writeInt(0x800 + dimensions.length);
            for (int dimension : dimensions) {
                out.writeInt(dimension);
            }
            out.write(content);
        }
    }
}

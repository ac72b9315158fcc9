package org.horovod4j.examples;

import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.dataset.RandomAccessDataset;
import ai.djl.training.dataset.Record;
import ai.djl.util.Progress;

import org.jspecify.annotations.Nullable;

import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntSupplier;
import java.util.stream.Stream;

/// A data set in files: images of 28 by 28 bytes, each with its label in the next byte.
///
/// A sample is read when a batch needs it, so the data may be larger than memory. Sampler and shuffle
/// are those of any other data set: the number of a sample tells its file and its place there.
final class RecordFiles extends RandomAccessDataset implements AutoCloseable {
    private static final int RECORD_BYTES = MnistData.PIXELS + 1;
    private static final float WHITE = 255;
    private static final String EXTENSION = ".records";

    private final List<FileChannel> files;
    private final long[] firstRecords;
    private final @Nullable IntSupplier epochOfShifts;

    private RecordFiles(Builder builder) throws IOException {
        super(builder);
        this.epochOfShifts = builder.epochOfShifts;
        this.files = new ArrayList<>();
        this.firstRecords = new long[builder.paths.size() + 1];
        for (Path path : builder.paths) {
            FileChannel file = FileChannel.open(path, StandardOpenOption.READ);
            files.add(file);
            firstRecords[files.size()] =
                    firstRecords[files.size() - 1] + file.size() / RECORD_BYTES;
        }
    }

    /// Writes a set of MNIST as several files.
    static void write(MnistData mnistData, Path folder, int recordsPerFile) throws IOException {
        Files.createDirectories(folder);
        ByteBuffer pixels = mnistData.pixels();
        ByteBuffer labels = mnistData.labels();
        byte[] record = new byte[RECORD_BYTES];
        for (int file = 0; pixels.hasRemaining(); file++) {
            int records = Math.min(recordsPerFile, labels.remaining());
            ByteBuffer content = ByteBuffer.allocate(records * RECORD_BYTES);
            while (content.hasRemaining()) {
                pixels.get(record, 0, MnistData.PIXELS);
                record[MnistData.PIXELS] = labels.get();
                content.put(record);
            }
            Files.write(folder.resolve("%05d%s".formatted(file, EXTENSION)), content.array());
        }
    }

    /// The data in all files of a folder, in the order of their names.
    static Builder in(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return new Builder(
                    files.filter(file -> file.toString().endsWith(EXTENSION)).sorted().toList());
        }
    }

    /// Called by several threads at once: a read at a position does not move the channel.
    @Override
    public Record get(NDManager manager, long index) throws IOException {
        int file = 0;
        while (index >= firstRecords[file + 1]) {
            file++;
        }
        ByteBuffer record = ByteBuffer.allocate(RECORD_BYTES);
        long position = (index - firstRecords[file]) * RECORD_BYTES;
        while (record.hasRemaining()) {
            if (files.get(file).read(record, position + record.position()) < 0) {
                throw new EOFException("a file of records became shorter");
            }
        }
        float[] pixels = new float[MnistData.PIXELS];
        for (int i = 0; i < pixels.length; i++) {
            pixels[i] = Byte.toUnsignedInt(record.get(i)) / WHITE;
        }
        if (epochOfShifts != null) {
            pixels = RandomShift.apply(pixels, epochOfShifts.getAsInt(), index);
        }
        return new Record(
                new NDList(manager.create(pixels, new Shape(1, 28, 28))),
                new NDList(
                        manager.create((float) record.get(MnistData.PIXELS))
                                .toType(DataType.FLOAT32, false)));
    }

    @Override
    protected long availableSize() {
        return firstRecords[files.size()];
    }

    /// The files are there already.
    @Override
    public void prepare(@Nullable Progress progress) {}

    @Override
    public void close() throws IOException {
        for (FileChannel file : files) {
            file.close();
        }
    }

    static final class Builder extends BaseBuilder<Builder> {
        private final List<Path> paths;
        private @Nullable IntSupplier epochOfShifts;

        private Builder(List<Path> paths) {
            this.paths = paths;
        }

        /// Augments the images by a [RandomShift].
        ///
        /// @param epoch the number of the epoch that is being read
        Builder shift(IntSupplier epoch) {
            epochOfShifts = epoch;
            return this;
        }

        @Override
        protected Builder self() {
            return this;
        }

        RecordFiles build() {
            try {
                return new RecordFiles(this);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}

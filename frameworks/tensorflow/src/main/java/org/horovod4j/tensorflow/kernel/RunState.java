package org.horovod4j.tensorflow.kernel;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;

/// Tells whether the run of a graph was cancelled, because one of its nodes has failed.
///
/// TensorFlow waits for nodes in flight before it ends such a run, and its C API does not tell them. So this
/// class reads the flag of the run, at its place in the builds that our tests run with. It reads from a
/// file of the system: a wrong address is an error, and not a crash.
final class RunState {
    private static final Path MEMORY = Path.of("/proc/self/mem");

    /// From the context of a node to its parameters, from there to the object that cancels the run, and
    /// the flag in it.
    private static final int PARAMETERS = 16;

    private static final int CANCELLATION = 168;
    private static final int IS_CANCELLED = 1;

    private RunState() {}

    /// Whether the run of a node was cancelled.
    ///
    /// @param context of a node in flight
    /// @return false if it is not known
    static boolean isCancelled(MemorySegment context) {
        try (FileChannel memory = FileChannel.open(MEMORY)) {
            long parameters = readLong(memory, context.address() + PARAMETERS);
            long cancellation = readLong(memory, parameters + CANCELLATION);
            return read(memory, cancellation + IS_CANCELLED, 1).get(0) == 1;
        } catch (IOException | IllegalArgumentException _) { // no such address, or no such file
            return false;
        }
    }

    private static long readLong(FileChannel memory, long address) throws IOException {
        return read(memory, address, Long.BYTES).getLong(0);
    }

    private static ByteBuffer read(FileChannel memory, long address, int count) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(count).order(ByteOrder.nativeOrder());
        if (memory.read(bytes, address) < count) {
            throw new IOException("the memory ends");
        }
        return bytes;
    }
}

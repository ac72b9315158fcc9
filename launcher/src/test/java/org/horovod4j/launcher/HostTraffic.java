package org.horovod4j.launcher;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.DataType;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/// A rank that runs each operation with a large tensor. The first rank of each host prints how many
/// bytes the host has sent over its network interfaces, such as `allreduce=25000000`.
final class HostTraffic {
    /// Divisible by the square of six ranks.
    static final int ELEMENTS = 36 << 17;

    private static final int TRANSMITTED = 8;

    private HostTraffic() {}

    public static void main(String[] arguments) throws IOException {
        Hvd.init();
        Tensor all = Tensor.zeros(DataType.FLOAT32, Shape.of(ELEMENTS));
        Tensor own = Tensor.zeros(DataType.FLOAT32, Shape.of(ELEMENTS / Hvd.size()));
        measure("allreduce", () -> Hvd.allreduce("tensor", all, ReduceOp.SUM));
        measure("reducescatter", () -> Hvd.reducescatter("tensor", all, ReduceOp.SUM));
        measure("broadcast", () -> Hvd.broadcast("tensor", all, 0));
        measure("allgather", () -> Hvd.allgather("tensor", own));
        measure("alltoall", () -> Hvd.alltoall("tensor", own));
        Hvd.shutdown();
    }

    /// Runs an operation twice, because the first run may open links, and counts the second.
    private static void measure(String name, Runnable operation) throws IOException {
        operation.run();
        Hvd.barrier();
        long before = sentBytes();
        operation.run();
        Hvd.barrier();
        if (Hvd.localRank() == 0) {
            IO.println(name + "=" + (sentBytes() - before));
        }
        Hvd.barrier();
    }

    /// The bytes that this host has sent. A line of the file has the name of an interface, the bytes
    /// that it has received, 7 other numbers, and the bytes that it has sent.
    private static long sentBytes() throws IOException {
        List<String> lines = Files.readAllLines(Path.of("/proc/net/dev"), UTF_8);
        return lines.stream()
                .map(String::strip)
                .filter(line -> line.startsWith("eth"))
                .map(line -> line.substring(line.indexOf(':') + 1).strip().split(" +"))
                .mapToLong(numbers -> Long.parseLong(numbers[TRANSMITTED]))
                .sum();
    }
}

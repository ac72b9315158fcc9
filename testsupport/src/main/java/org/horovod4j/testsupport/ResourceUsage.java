package org.horovod4j.testsupport;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/// The resources that this process uses. Two of them, early and late in a long run, show a leak.
///
/// @param heap bytes of the heap in use after a garbage collection
/// @param resident bytes of resident memory
public record ResourceUsage(long heap, long resident, long threads, long files) {
    private static final long MEBIBYTE = 1 << 20;

    public static ResourceUsage now() {
        System.gc();
        try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
            return new ResourceUsage(
                    ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed(),
                    residentBytes(),
                    ManagementFactory.getThreadMXBean().getThreadCount(),
                    descriptors.count());
        } catch (IOException e) {
            throw new IllegalStateException("no /proc to look at", e);
        }
    }

    private static long residentBytes() throws IOException {
        String line =
                Files.readAllLines(Path.of("/proc/self/status")).stream()
                        .filter(each -> each.startsWith("VmRSS:"))
                        .findFirst()
                        .orElseThrow();
        return Long.parseLong(line.replaceAll("\\D", "")) * 1024;
    }

    /// A line of output that [#parse] reads in another process.
    public String line() {
        return "usage %d %d %d %d".formatted(heap, resident, threads, files);
    }

    public static ResourceUsage parse(String line) {
        List<Long> numbers = Stream.of(line.split(" ")).skip(1).map(Long::valueOf).toList();
        return new ResourceUsage(numbers.get(0), numbers.get(1), numbers.get(2), numbers.get(3));
    }

    /// Code, classes and shared memory are touched late, but then stop growing. A leak does not.
    public void assertFlatSince(ResourceUsage early) {
        assertThat(heap).as("heap").isLessThan(early.heap + 4 * MEBIBYTE);
        assertThat(resident).as("resident memory").isLessThan(early.resident + 48 * MEBIBYTE);
        assertThat(threads).as("threads").isLessThanOrEqualTo(early.threads + 1);
        assertThat(files).as("files").isLessThanOrEqualTo(early.files + 4);
    }
}

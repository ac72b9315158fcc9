package org.horovod4j.tensorflow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.horovod4j.launcher.Launcher;
import org.horovod4j.testing.World;
import org.horovod4j.testsupport.ResourceUsage;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.TagFilter;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.tensorflow.Output;
import org.tensorflow.types.TFloat32;

import java.io.IOException;
import java.io.PrintWriter;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/// The kernels pass memory between Java and TensorFlow: they must neither damage it nor leak it.
@Tag("slow")
class NativeMemoryIT {
    /// The C library checks each block that is freed, and aborts if a byte behind it has changed.
    private static final Map<String, String> CHECKED_HEAP =
            Map.of("LD_PRELOAD", "libc_malloc_debug.so.0", "MALLOC_CHECK_", "3");

    private static final int SESSIONS = 500;

    /// `-Dsoak.seconds=…` for another length.
    private static final Duration LENGTH = Duration.ofSeconds(Long.getLong("soak.seconds", 600));

    private static final Duration TIMEOUT = Duration.ofMinutes(10);

    @TempDir Path folder;

    private record Ended(int exitCode, String output) {}

    private Ended runChecked(Class<?> program, String... arguments)
            throws IOException, InterruptedException {
        ProcessBuilder builder =
                new ProcessBuilder(
                        TestJvm.of(program, arguments)
                                .withVectors()
                                .with("--sun-misc-unsafe-memory-access=allow")
                                .words());
        builder.environment().putAll(CHECKED_HEAP);
        Path file = folder.resolve("output");
        Process process = builder.redirectErrorStream(true).redirectOutput(file.toFile()).start();
        boolean hasEnded;
        try {
            hasEnded = process.waitFor(TIMEOUT);
        } finally {
            process.destroyForcibly();
        }
        String output = Files.readString(file);
        assertThat(hasEnded).as("%s has ended: %s", program, output).isTrue();
        assumeFalse(
                output.contains("cannot be preloaded"),
                "the C library has no checks of the heap: " + output);
        return new Ended(process.exitValue(), output);
    }

    /// Otherwise the next tests would show nothing.
    @Test
    void checkedHeapFindsAByteBehindABlock() throws Exception {
        Ended ended = runChecked(Overflow.class);
        assertThat(ended.exitCode).as(ended.output).isEqualTo(128 + 6); // SIGABRT
        assertThat(ended.output).contains("free(): invalid pointer");
    }

    static final class Overflow {
        private Overflow() {}

        @SuppressWarnings("restricted") // damages the heap on purpose
        public static void main(String[] args) throws Throwable {
            MemorySegment block =
                    (MemorySegment)
                            function("malloc", FunctionDescriptor.of(ADDRESS, JAVA_LONG))
                                    .invokeExact(24L);
            block.reinterpret(25).set(JAVA_BYTE, 24, (byte) 0x55);
            function("free", FunctionDescriptor.ofVoid(ADDRESS)).invokeExact(block);
        }

        /// The function that native libraries get by this name: that of the library which is loaded
        /// before others, with the version that they were linked with.
        @SuppressWarnings("restricted")
        private static MethodHandle function(String name, FunctionDescriptor descriptor)
                throws Throwable {
            Linker linker = Linker.nativeLinker();
            MethodHandle find =
                    linker.downcallHandle(
                            linker.defaultLookup().findOrThrow("dlvsym"),
                            FunctionDescriptor.of(ADDRESS, ADDRESS, ADDRESS, ADDRESS));
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment anyLibrary = MemorySegment.NULL;
                MemorySegment found =
                        (MemorySegment)
                                find.invokeExact(
                                        anyLibrary,
                                        arena.allocateFrom(name),
                                        arena.allocateFrom("GLIBC_2.2.5"));
                return linker.downcallHandle(found, descriptor);
            }
        }
    }

    @Test
    void testsOfOpsPassWithACheckedHeap() throws Exception {
        Ended ended =
                runChecked(
                        Tests.class,
                        HvdOpsTest.class.getName(),
                        CollectiveGradientsTest.class.getName(),
                        DistributedOptimizerTest.class.getName());
        assertThat(ended.exitCode).as(ended.output).isZero();
        assertThat(ended.output).containsPattern("[1-9]\\d+ tests passed");
    }

    /// Runs the test classes that its arguments name.
    static final class Tests {
        private Tests() {}

        public static void main(String[] classes) {
            SummaryGeneratingListener summary = new SummaryGeneratingListener();
            LauncherFactory.create()
                    .execute(
                            LauncherDiscoveryRequestBuilder.request()
                                    .selectors(
                                            Stream.of(classes)
                                                    .map(DiscoverySelectors::selectClass)
                                                    .toList())
                                    .filters(TagFilter.excludeTags("slow"))
                                    .build(),
                            summary);
            summary.getSummary()
                    .printFailuresTo(new PrintWriter(System.out, true, StandardCharsets.UTF_8), 50);
            System.out.println(summary.getSummary().getTestsSucceededCount() + " tests passed");
            System.exit(summary.getSummary().getTotalFailureCount() == 0 ? 0 : 1);
        }
    }

    @Test
    void sessionsOpenAndCloseWithACheckedHeap() throws Exception {
        Ended ended = runChecked(Sessions.class, Integer.toString(SESSIONS));
        assertThat(ended.exitCode).as(ended.output).isZero();
        assertThat(ended.output).contains(SESSIONS + " sessions on each rank");
    }

    /// Opens sessions, uses them and closes them.
    static final class Sessions {
        private Sessions() {}

        public static void main(String[] args) {
            int count = Integer.parseInt(args[0]);
            World.run(
                    2,
                    comm -> {
                        for (int i = 0; i < count; i++) {
                            useSession(comm, i);
                        }
                    });
            System.out.println(count + " sessions on each rank");
        }
    }

    private static void useSession(Communicator comm, int number) {
        try (GraphRun graph = new GraphRun(comm)) {
            Output<TFloat32> own = graph.tf.constant(new float[] {comm.rank(), number}).asOutput();
            Output<TFloat32> sum = graph.hvd.allreduce(own, ReduceOp.SUM);
            Output<TFloat32> all = graph.hvd.allgather(own);
            Output<?>[] gradients = graph.graph.addGradients(sum, new Output<?>[] {own});
            List<float[]> values = graph.floats(sum, all, gradients[0]);
            assertThat(values.get(0)).containsExactly(1, 2 * number);
            assertThat(values.get(1)).containsExactly(0, number, 1, number);
            assertThat(values.get(2)).containsExactly(2, 2);
        }
    }

    @Test
    void memoryStaysFlat() {
        long seconds = LENGTH.toSeconds();
        List<List<String>> ranks =
                Launcher.processes(2)
                        // All of the heap at once, or it would grow as the JVM likes.
                        .jvmOptions(List.of("-XX:+UseSerialGC", "-Xms256m", "-XX:+AlwaysPreTouch"))
                        .environment(Map.of("MALLOC_ARENA_MAX", "2"))
                        .run(comm -> train(comm, seconds));
        for (List<String> lines : ranks) {
            System.out.println(lines);
            List<ResourceUsage> usages = lines.stream().map(ResourceUsage::parse).toList();
            usages.getLast().assertFlatSince(usages.getFirst());
        }
    }

    /// Trains for some time, and opens other sessions now and then.
    ///
    /// @return the resource use after each fifth of the time
    private static List<String> train(Communicator comm, long seconds) {
        List<String> usages = new ArrayList<>();
        try (ImageTraining training =
                new ImageTraining(
                        16,
                        4,
                        graph -> HvdTensorFlow.distributed(new Adam(graph, 1e-4f)),
                        HvdTensorFlow.config())) {
            training.broadcast();
            long begin = System.nanoTime();
            int count = 0;
            for (int part = 1; part <= 5; part++) {
                long end = begin + Duration.ofSeconds(seconds).toNanos() * part / 5;
                do {
                    for (int i = 0; i < 50; i++) {
                        float loss = training.step(comm.rank(), comm.rank() + 8);
                        assertThat(loss).isNotNegative();
                    }
                    useSession(comm, count++);
                } while (!isOver(comm, end));
                usages.add(ResourceUsage.now().line());
            }
        }
        return usages;
    }

    /// The clock of rank 0 decides for all ranks.
    private static boolean isOver(Communicator comm, long end) {
        float[] over = {comm.rank() == 0 && System.nanoTime() - end > 0 ? 1 : 0};
        comm.allreduce("over", over, ReduceOp.MAX);
        return over[0] > 0;
    }
}

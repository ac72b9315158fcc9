package org.horovod4j.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import org.apache.spark.sql.SparkSession;
import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.elastic.Elastic;
import org.horovod4j.elastic.ObjectState;
import org.horovod4j.launcher.LaunchException;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;

/// A standalone master and two workers, as processes, of which some are killed.
@Tag("slow")
@Timeout(180)
class StandaloneClusterIT {
    private static final int STEPS = 300;

    @TempDir private Path folder;
    private final List<Process> processes = new ArrayList<>();
    private String master = "";

    @BeforeEach
    void startCluster() throws Exception {
        TestCluster.linkJars();
        int port;
        try (ServerSocket free = new ServerSocket(0)) {
            port = free.getLocalPort();
        }
        master = "spark://127.0.0.1:" + port;
        start(
                "org.apache.spark.deploy.master.Master",
                "--host",
                "127.0.0.1",
                "--port",
                Integer.toString(port),
                "--webui-port",
                "0");
        await().atMost(Duration.ofSeconds(60)).until(() -> isOpen(port));
        for (int i = 2; i <= 3; i++) {
            start(
                    "org.apache.spark.deploy.worker.Worker",
                    "--host",
                    "127.0.0." + i,
                    "--cores",
                    "1",
                    "--memory",
                    "1g",
                    "--webui-port",
                    "0",
                    "--work-dir",
                    folder.resolve("work" + i).toString(),
                    master);
        }
    }

    @AfterEach
    void stopCluster() {
        List<ProcessHandle> all =
                processes.stream()
                        .map(Process::toHandle)
                        .flatMap(it -> Stream.concat(it.descendants(), Stream.of(it)))
                        .toList();
        all.forEach(ProcessHandle::destroyForcibly);
        await().atMost(Duration.ofMinutes(1))
                .until(() -> all.stream().noneMatch(ProcessHandle::isAlive));
    }

    private Process start(String main, String... arguments) throws IOException {
        List<String> words =
                new TestJvm(
                                List.of("-Xmx512m", "--sun-misc-unsafe-memory-access=allow"),
                                TestJvm.CLASS_PATH,
                                main,
                                List.of(arguments))
                        .shortLived()
                        .words();
        Process process =
                new ProcessBuilder(words)
                        .redirectErrorStream(true)
                        .redirectOutput(folder.resolve(main + processes.size() + ".log").toFile())
                        .start();
        processes.add(process);
        return process;
    }

    private static boolean isOpen(int port) {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            return socket.isConnected();
        } catch (IOException e) {
            return false;
        }
    }

    private static SparkSession session(String master) throws IOException {
        return session(master, "");
    }

    /// @param options of the JVMs of executors
    private static SparkSession session(String master, String options) throws IOException {
        return TestCluster.start(
                master,
                Map.of(
                        "spark.executor.memory",
                        "512m",
                        "spark.executor.extraJavaOptions",
                        "-XX:TieredStopAtLevel=1 " + options,
                        "spark.driver.host",
                        "127.0.0.1"));
    }

    /// Writes the process of each rank of each generation into a file, and makes steps.
    ///
    /// @param untilReplaced makes more steps, until another worker has replaced one
    private static int train(String pids, boolean untilReplaced) throws Exception {
        ObjectState state = new ObjectState().with("step", 0);
        Elastic.run(
                state,
                s -> {
                    int generation = Hvd.membership().generation();
                    writePid(Path.of(pids, generation + "-" + Hvd.rank()));
                    boolean isLast = !untilReplaced || (generation > 0 && Hvd.size() == 2);
                    while (!isLast || s.getInt("step") < STEPS) {
                        Hvd.barrier();
                        Thread.sleep(50);
                        s.set("step", s.getInt("step") + 1);
                        s.commit();
                    }
                });
        return state.getInt("step");
    }

    /// The file exists when it is complete.
    private static void writePid(Path file) throws IOException {
        Path incomplete = file.resolveSibling(file.getFileName() + ".incomplete");
        Files.writeString(incomplete, Long.toString(ProcessHandle.current().pid()));
        Files.move(incomplete, file);
    }

    private List<Integer> trainAnd(Path pids, boolean untilReplaced, Action action)
            throws Exception {
        Files.createDirectories(pids);
        String text = pids.toString();
        try (SparkSession spark = session(master);
                ExecutorService threads = Executors.newSingleThreadExecutor()) {
            Future<List<Integer>> job =
                    threads.submit(
                            () ->
                                    HvdSpark.ranks(spark, 2)
                                            .minRanks(1)
                                            .runElastic(() -> train(text, untilReplaced)));
            await().atMost(Duration.ofSeconds(60)).until(() -> Files.exists(pids.resolve("0-1")));
            action.run();
            return job.get();
        }
    }

    private interface Action {
        void run() throws IOException;
    }

    @Test
    void aKilledExecutorIsReplaced() throws Exception {
        Path pids = folder.resolve("pids");

        List<Integer> steps =
                trainAnd(
                        pids,
                        true,
                        () ->
                                ProcessHandle.of(read(pids.resolve("0-1")))
                                        .orElseThrow()
                                        .destroyForcibly());

        assertThat(steps).hasSize(2).allMatch(it -> it >= STEPS).containsOnly(steps.getFirst());
        assertThat(pids).isDirectoryContaining("regex:.*/[1-9]\\d*-1");
    }

    @Test
    void theOtherWorkerContinuesWhenOneIsKilled() throws Exception {
        Path pids = folder.resolve("pids");

        List<Integer> steps = trainAnd(pids, false, () -> processes.getLast().destroyForcibly());

        assertThat(steps).containsExactly(STEPS);
    }

    /// A job whose ranks are processes that wait for ever.
    private static void waitForEver(SparkSession spark, String pids) {
        HvdSpark.ranks(spark, 2)
                .startTimeout(Duration.ofMinutes(1))
                .processes("-XX:TieredStopAtLevel=1")
                .execute(
                        comm -> {
                            writePid(Path.of(pids, "rank" + comm.rank()));
                            if (comm.rank() == 0) {
                                comm.barrier();
                            }
                            Thread.sleep(Duration.ofHours(1));
                        });
    }

    /// The processes of [#waitForEver].
    private static List<ProcessHandle> awaitRanks(Path pids) {
        await().atMost(Duration.ofSeconds(90))
                .until(
                        () ->
                                Files.exists(pids.resolve("rank0"))
                                        && Files.exists(pids.resolve("rank1")));
        return Stream.of("rank0", "rank1")
                .map(name -> read(pids.resolve(name)))
                .map(pid -> ProcessHandle.of(pid).orElseThrow())
                .toList();
    }

    /// The driver of such a job.
    static final class WaitingDriver {
        private WaitingDriver() {}

        public static void main(String[] arguments) throws Exception {
            String pids = arguments[1];
            try (SparkSession spark = session(arguments[0], "-Djava.io.tmpdir=" + arguments[2])) {
                waitForEver(spark, pids);
            }
        }
    }

    @Test
    void cancellingAJobEndsItsRanksAndTheNextJobRuns() throws Exception {
        Path pids = Files.createDirectories(folder.resolve("pids"));
        try (SparkSession spark = session(master);
                ExecutorService threads = Executors.newSingleThreadExecutor()) {
            Future<?> job = threads.submit(() -> waitForEver(spark, pids.toString()));
            List<ProcessHandle> ranks;
            try {
                ranks = awaitRanks(pids);

                spark.sparkContext().cancelAllJobs();

                assertThatThrownBy(job::get)
                        .hasCauseInstanceOf(LaunchException.class)
                        .hasMessageContaining("the Spark job was cancelled");
            } finally {
                job.cancel(true);
            }
            await().atMost(Duration.ofSeconds(30))
                    .until(() -> ranks.stream().noneMatch(ProcessHandle::isAlive));
            assertThat(HvdSpark.run(spark, 2, Communicator::size)).containsExactly(2, 2);
        }
    }

    @Test
    void nothingIsLeftBehindWhenTheDriverDies() throws Exception {
        Path pids = Files.createDirectories(folder.resolve("pids"));
        Path temporary = Files.createDirectories(folder.resolve("temporary"));
        Process driver =
                start(WaitingDriver.class.getName(), master, pids.toString(), temporary.toString());
        List<ProcessHandle> ranks = awaitRanks(pids);
        List<ProcessHandle> executors =
                ranks.stream().map(rank -> rank.parent().orElseThrow()).toList();

        driver.destroyForcibly();

        await().atMost(Duration.ofSeconds(60))
                .until(
                        () ->
                                Stream.concat(ranks.stream(), executors.stream())
                                        .noneMatch(ProcessHandle::isAlive));
        try (Stream<Path> files = Files.list(temporary)) {
            assertThat(files.filter(it -> it.getFileName().toString().startsWith("hvd-")))
                    .isEmpty();
        }
    }

    private static long read(Path file) {
        try {
            return Long.parseLong(Files.readString(file));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

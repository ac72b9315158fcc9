package org.horovod4j.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.apache.spark.sql.SparkSession;
import org.horovod4j.launcher.HorovodRun;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;

/// `horovodrun --job` with `engine: spark`, and Spark's own `SparkSubmit`.
@Timeout(120)
class JobFileIT {
    @TempDir private Path folder;
    private final List<Process> started = new ArrayList<>();

    /// The program that is submitted.
    public static final class Train {
        private Train() {}

        public static void main(String[] arguments) throws IOException {
            try (SparkSession spark = SparkSession.builder().getOrCreate()) {
                String name = spark.sparkContext().appName();
                boolean waits = arguments.length > 0 && arguments[0].equals("--wait");
                HvdSpark.ranks(spark)
                        .startTimeout(Duration.ofMinutes(1))
                        .execute(
                                comm -> {
                                    comm.barrier();
                                    System.out.printf(
                                            "%s %d of %d, %s, %d%n",
                                            name,
                                            comm.rank(),
                                            comm.size(),
                                            System.getenv("DATA"),
                                            ProcessHandle.current().pid());
                                    if (waits) {
                                        Thread.sleep(Duration.ofHours(1));
                                    }
                                });
            }
        }
    }

    @BeforeEach
    void installSpark() throws IOException {
        TestCluster.linkJars();
        Path bin = Files.createDirectories(TestCluster.home().resolve("bin"));
        // What the script of an installation does.
        Path script =
                Files.writeString(
                        bin.resolve("spark-submit"),
                        """
                        #!/bin/sh
                        exec "$JAVA_HOME/bin/java" -XX:TieredStopAtLevel=1 --sun-misc-unsafe-memory-access=allow \
                            --enable-native-access=ALL-UNNAMED --add-modules=jdk.incubator.vector \
                            -cp '%s':"$SPARK_HOME/jars/*" org.apache.spark.deploy.SparkSubmit "$@"
                        """
                                .formatted(TestCluster.folders()));
        Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwx------"));
        try (OutputStream file = Files.newOutputStream(folder.resolve("train.jar"));
                JarOutputStream jar = new JarOutputStream(file)) {
            jar.putNextEntry(new JarEntry("empty")); // the classes are in folders
        }
    }

    @AfterEach
    void stop() {
        for (Process horovodrun : started) {
            horovodrun.descendants().forEach(ProcessHandle::destroyForcibly);
            horovodrun.destroyForcibly();
        }
    }

    private Path output() {
        return folder.resolve("output");
    }

    private Process start(String arguments) throws IOException {
        Path job =
                Files.writeString(
                        folder.resolve("job.yml"),
                        """
                        project: from a file
                        engine: spark
                        workers: 2
                        resources: {mem: 512}
                        spark:
                          master: local-cluster[2,1,1024]
                          class: %s
                          conf:
                            spark.ui.enabled: false
                            spark.executor.extraJavaOptions: -XX:TieredStopAtLevel=1
                            spark.executor.extraClassPath: %s
                        environment:
                          DATA: some data
                        run: %s %s
                        """
                                .formatted(
                                        Train.class.getName(),
                                        TestCluster.folders(),
                                        folder.resolve("train.jar"),
                                        arguments));
        ProcessBuilder builder =
                new ProcessBuilder(
                        TestJvm.of(HorovodRun.class, "--job", job.toString()).shortLived().words());
        builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
        Process horovodrun =
                builder.redirectErrorStream(true).redirectOutput(output().toFile()).start();
        started.add(horovodrun);
        return horovodrun;
    }

    @Test
    void aJobFileSubmitsTheProgramWithItsRanksAndVariables() throws Exception {
        Process horovodrun = start("");

        int code = horovodrun.waitFor();

        String text = Files.readString(output(), UTF_8);
        assertThat(text)
                .contains("[0]<stdout>:from a file 0 of 2, some data, ")
                .contains("[1]<stdout>:from a file 1 of 2, some data, ");
        assertThat(code).as(text).isZero();
    }

    @Test
    @Tag("slow")
    void aSignalEndsTheApplication() throws Exception {
        Process horovodrun = start("--wait");
        await().atMost(Duration.ofMinutes(1))
                .until(
                        () ->
                                Files.readString(output())
                                                .lines()
                                                .filter(it -> it.contains("some data"))
                                                .count()
                                        == 2);
        List<Long> ranks =
                Files.readString(output())
                        .lines()
                        .filter(it -> it.contains("some data"))
                        .map(it -> Long.parseLong(it.replaceFirst(".*, ", "")))
                        .toList();

        horovodrun.destroy(); // SIGTERM

        assertThat(horovodrun.waitFor()).isEqualTo(128 + 15);
        await().atMost(Duration.ofSeconds(30))
                .until(() -> ranks.stream().allMatch(pid -> ProcessHandle.of(pid).isEmpty()));
    }
}

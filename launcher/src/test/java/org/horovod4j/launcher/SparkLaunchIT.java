package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.launcher.output.LauncherConsole;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/// What `spark-submit` gets. A shell script stands in for it; `JobFileIT` of the module for Spark
/// runs the real one.
@Timeout(60)
class SparkLaunchIT {
    @TempDir Path folder;
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();
    private Path jar = Path.of("");

    @BeforeEach
    void createJar() throws IOException {
        jar = Files.writeString(folder.resolve("train.jar"), "");
    }

    private int run(Map<String, String> more, String job, String... flags) throws Exception {
        Path file =
                Files.writeString(folder.resolve("job.yml"), job.replace("JAR", jar.toString()));
        Map<String, String> environment = new HashMap<>(System.getenv());
        environment.remove("SPARK_HOME");
        environment.putAll(more);
        String[] words = new String[flags.length + 2];
        words[0] = "--job";
        words[1] = file.toString();
        System.arraycopy(flags, 0, words, 2, flags.length);
        return new HorovodRun(new LauncherConsole(out, err), environment).run(words);
    }

    /// An installation of Spark whose `spark-submit` runs these lines.
    private Map<String, String> installed(String... lines) throws IOException {
        Path bin = Files.createDirectories(folder.resolve("spark/bin"));
        Path script = Files.write(bin.resolve("spark-submit"), List.of(lines));
        Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwx------"));
        return Map.of("SPARK_HOME", folder.resolve("spark").toString());
    }

    @Test
    void theJobFileBecomesOneCommandLine() throws Exception {
        int code =
                run(
                        installed(
                                "#!/bin/sh",
                                "printf '%s\\n' \"$@\"",
                                "echo cycle=$HOROVOD_CYCLE_TIME",
                                "for word in \"$@\"; do case $word in *.conf) cat \"$word\"; esac; done"),
                        """
                        project: mnist
                        engine: spark
                        workers: 2
                        spark:
                          master: spark://host:7077
                          class: com.example.Train
                          packages: [a:b:1, c:d:2]
                          conf:
                            spark.executor.cores: 3
                            spark.hadoop.fs.key: another secret
                        environment:
                          HOROVOD_CYCLE_TIME: 2
                          TOKEN: very secret
                        run: JAR --epochs 3
                        """,
                        "--verbose");

        assertThat(err.toString(UTF_8))
                .contains("--properties-file ")
                .doesNotContain("very secret", "another secret");
        assertThat(code).isZero();
        String[] printed = out.toString(UTF_8).split("\\R");
        assertThat(printed)
                .containsSubsequence("--master", "spark://host:7077")
                .containsSubsequence("--name", "mnist")
                .containsSubsequence("--class", "com.example.Train")
                .containsSubsequence("--packages", "a:b:1,c:d:2")
                .containsSubsequence("--load-spark-defaults", "--properties-file")
                .containsSubsequence(jar.toString(), "--epochs", "3", "cycle=2")
                // in the file alone
                .doesNotContain("--conf")
                .contains("spark.cores.max=6")
                .contains("spark.executor.cores=3")
                .contains("spark.executor.instances=2")
                .contains("spark.horovod.ranks=2")
                .contains("spark.task.cpus=1")
                .contains("spark.hadoop.fs.key=another secret")
                .contains("spark.executorEnv.TOKEN=very secret")
                .doesNotContain("spark.executorEnv.HOROVOD_CYCLE_TIME=2");
    }

    @Test
    void theExitCodeIsThatOfSparkSubmitAndLaterProgramsDoNotRun() throws Exception {
        int code =
                run(
                        installed("#!/bin/sh", "echo ran >&2", "exit 3"),
                        """
                        engine: spark
                        run: [JAR first, JAR second]
                        """,
                        "--verbose");

        assertThat(code).isEqualTo(3);
        assertThat(err.toString(UTF_8))
                .containsOnlyOnce("ran\n")
                .contains("spark/bin/spark-submit --load-spark-defaults --properties-file ")
                .contains("spark-submit ended with exit code 3");
    }

    @Test
    void missingPartsAreNamed() throws Exception {
        assertThat(run(Map.of("PATH", "/nowhere"), "engine: spark\nrun: JAR")).isEqualTo(2);
        assertThat(err.toString(UTF_8))
                .contains("there is no spark-submit on the PATH, and SPARK_HOME is not set");
        assertThat(run(Map.of("SPARK_HOME", "/nowhere"), "engine: spark\nrun: JAR")).isEqualTo(2);
        assertThat(err.toString(UTF_8))
                .contains("SPARK_HOME is '/nowhere', which has no bin/spark-submit");
        Map<String, String> spark = installed("#!/bin/sh");
        assertThat(run(spark, "engine: spark\nrun: missing.jar")).isEqualTo(2);
        assertThat(err.toString(UTF_8)).contains("there is no readable file 'missing.jar'");
        assertThat(run(spark, "engine: spark\nrun: java -jar a.jar")).isEqualTo(2);
        assertThat(err.toString(UTF_8)).contains("Spark runs java itself");
        assertThat(
                        run(
                                spark,
                                """
                                engine: spark
                                spark: {deploy_mode: cluster}
                                environment: {HOROVOD_CYCLE_TIME: 2}
                                run: JAR
                                """))
                .isEqualTo(2);
        assertThat(err.toString(UTF_8))
                .contains("HOROVOD_CYCLE_TIME: with deploy_mode: cluster, options do not reach");
        for (String cluster :
                List.of("deploy_mode: cluster", "conf: {spark.submit.deployMode: cluster}")) {
            err.reset();
            String job = "engine: spark\nspark: {%s}\nrun: [JAR a, JAR b]".formatted(cluster);
            assertThat(run(spark, job)).isEqualTo(2);
            assertThat(err.toString(UTF_8))
                    .contains("run: with deploy_mode: cluster, spark-submit may not wait");
        }
    }
}

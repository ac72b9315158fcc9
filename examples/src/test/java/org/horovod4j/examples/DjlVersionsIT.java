package org.horovod4j.examples;

import static org.assertj.core.api.Assertions.assertThat;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.launcher.HorovodRun;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// Trains with every version of DJL that `docs/install.md` calls tested. Maven gets them.
@Tag("slow")
class DjlVersionsIT {
    /// A row of the table: DJL, its JNI part, and libtorch.
    private static final Pattern ROW =
            Pattern.compile(
                    "(?m)^\\| ([\\d.]+) \\| ([\\d.]+-[\\d.]+) \\|"
                            + " `pytorch-native-cpu:([\\d.]+):linux-x86_64` \\|");

    private static final String DEPENDENCY =
            """
            <dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version>%s</dependency>
            """;

    @TempDir private Path folder;

    record Version(String djl, String jni, String libTorch) {
        private String pom() {
            return """
            <project xmlns="http://maven.apache.org/POM/4.0.0">
              <modelVersion>4.0.0</modelVersion>
              <groupId>org.horovod4j</groupId>
              <artifactId>djl-version</artifactId>
              <version>1</version>
              <dependencies>
            """
                    + DEPENDENCY.formatted("ai.djl", "model-zoo", djl, "")
                    + DEPENDENCY.formatted("ai.djl.pytorch", "pytorch-engine", djl, "")
                    + DEPENDENCY.formatted("ai.djl.pytorch", "pytorch-jni", jni, "")
                    + DEPENDENCY.formatted(
                            "ai.djl.pytorch",
                            "pytorch-native-cpu",
                            libTorch,
                            "<classifier>linux-x86_64</classifier>")
                    + """
                      </dependencies>
                    </project>
                    """;
        }
    }

    static List<Version> versions() throws IOException {
        List<Version> versions = new ArrayList<>();
        for (MatchResult row :
                ROW.matcher(Files.readString(Path.of("../docs/install.md"))).results().toList()) {
            versions.add(new Version(row.group(1), row.group(2), row.group(3)));
        }
        assertThat(versions).hasSizeGreaterThan(2);
        return versions;
    }

    @ParameterizedTest
    @MethodSource("versions")
    void trains(Version version) throws Exception {
        MnistSubset.write(folder, 3000, 1000);
        Path libraries = folder.resolve("lib");
        Path pom = Files.writeString(folder.resolve("pom.xml"), version.pom());
        run(
                "../mvnw",
                "-B",
                "-q",
                "-f",
                pom.toString(),
                "dependency:3.11.0:copy-dependencies",
                "-DoutputDirectory=" + libraries);

        List<String> job = new ArrayList<>(TestJvm.of(HorovodRun.class).shortLived().words());
        job.addAll(List.of("-np", "2"));
        job.addAll(
                TestJvm.of(
                                Mnist.class,
                                "--epochs",
                                "2",
                                "--data",
                                folder.toString(),
                                "--model",
                                folder.resolve("model").toString())
                        .onClassPath(withoutDjl() + File.pathSeparator + libraries + "/*")
                        .words());
        String output = run(job.toArray(String[]::new));
        assertThat(output).containsPattern("test accuracy ([6-9]\\d|100)\\.\\d+ % with 2 process");
    }

    /// The class path of this test without the version of DJL that the build uses.
    private static String withoutDjl() {
        return Stream.of(TestJvm.CLASS_PATH.split(File.pathSeparator, -1))
                .filter(entry -> !entry.contains("ai" + File.separator + "djl"))
                .collect(Collectors.joining(File.pathSeparator));
    }

    /// What a command prints. It must succeed.
    private static String run(String... command) throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().put("OMP_NUM_THREADS", "1");
        builder.environment().put("DJL_OFFLINE", "true");
        Process process = builder.start();
        String output = new String(process.getInputStream().readAllBytes(), UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
        return output;
    }
}

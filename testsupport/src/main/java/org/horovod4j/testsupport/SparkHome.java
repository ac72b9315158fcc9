package org.horovod4j.testsupport;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// The folder `SPARK_HOME` of a test, from whose jars Spark starts executors: those of the class path.
public final class SparkHome {
    private SparkHome() {}

    /// The folder in which Spark looks for its own jars.
    public static Path path() {
        return Path.of(System.getenv("SPARK_HOME"));
    }

    /// Links the jars of the class path there.
    ///
    /// @return the settings of a Spark session whose executors have the same class path as this test
    public static Map<String, String> create() throws IOException {
        Path jars = Files.createDirectories(path().resolve("jars"));
        for (Path jar : parts().filter(part -> part.toString().endsWith(".jar")).toList()) {
            Path link = jars.resolve(jar.getFileName());
            if (!Files.exists(link)) {
                Files.deleteIfExists(link); // it may lead nowhere
                Files.createSymbolicLink(link, jar);
            }
        }
        return Map.of(
                "spark.executor.extraClassPath",
                folders(),
                "spark.ui.enabled",
                "false",
                "spark.executor.extraJavaOptions",
                "-XX:TieredStopAtLevel=1",
                // The tests kill executors on purpose.
                "spark.deploy.maxExecutorRetries",
                "-1");
    }

    /// The folders of classes, which come before Spark's jars.
    public static String folders() {
        return parts().filter(Files::isDirectory)
                .map(Path::toString)
                .collect(Collectors.joining(File.pathSeparator));
    }

    private static Stream<Path> parts() {
        return Stream.of(TestJvm.CLASS_PATH.split(File.pathSeparator))
                .map(part -> Path.of(part).toAbsolutePath());
    }
}

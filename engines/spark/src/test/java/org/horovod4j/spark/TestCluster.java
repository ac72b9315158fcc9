package org.horovod4j.spark;

import org.apache.spark.sql.SparkSession;
import org.horovod4j.testsupport.TestJvm;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// Spark with real executors, from the jars of the class path.
final class TestCluster {
    private TestCluster() {}

    /// A session of a new Spark application.
    ///
    /// @param master as in `local-cluster[2,1,1024]`: two executors with one core and 1 GiB each
    static SparkSession start(String master, Map<String, String> more) throws IOException {
        linkJars();
        SparkSession.Builder builder =
                SparkSession.builder()
                        .master(master)
                        .appName("horovod4j-test")
                        .config("spark.executor.extraClassPath", folders())
                        .config("spark.ui.enabled", "false")
                        .config("spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=1")
                        // The tests kill executors on purpose.
                        .config("spark.deploy.maxExecutorRetries", "-1");
        more.forEach(builder::config);
        return builder.getOrCreate();
    }

    /// The folder in which Spark looks for its own jars.
    static Path home() {
        return Path.of(System.getenv("SPARK_HOME"));
    }

    static void linkJars() throws IOException {
        Path jars = Files.createDirectories(home().resolve("jars"));
        for (Path jar : parts().filter(part -> part.toString().endsWith(".jar")).toList()) {
            Path link = jars.resolve(jar.getFileName());
            if (!Files.exists(link)) {
                Files.deleteIfExists(link); // it may lead nowhere
                Files.createSymbolicLink(link, jar);
            }
        }
    }

    /// The folders of classes, which come before Spark's jars.
    static String folders() {
        return parts().filter(Files::isDirectory)
                .map(Path::toString)
                .collect(Collectors.joining(File.pathSeparator));
    }

    private static Stream<Path> parts() {
        return Stream.of(TestJvm.CLASS_PATH.split(File.pathSeparator))
                .map(part -> Path.of(part).toAbsolutePath());
    }
}

package org.horovod4j.spark;

import org.apache.spark.sql.SparkSession;
import org.horovod4j.testsupport.SparkHome;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;

/// Spark with real executors, from the jars of the class path.
public final class TestCluster {
    private TestCluster() {}

    /// A session of a new Spark application.
    ///
    /// @param master as in `local-cluster[2,1,1024]`: two executors with one core and 1 GiB each
    public static SparkSession start(String master, Map<String, String> more) throws IOException {
        SparkSession.Builder builder =
                SparkSession.builder().master(master).appName("horovod4j-test");
        SparkHome.create().forEach(builder::config);
        more.forEach(builder::config);
        return builder.getOrCreate();
    }

    /// The folder in which Spark looks for its own jars.
    static Path home() {
        return SparkHome.path();
    }

    static void linkJars() throws IOException {
        Map<String, String> _ = SparkHome.create();
    }

    /// The folders of classes, which come before Spark's jars.
    static String folders() {
        return SparkHome.folders();
    }
}

package org.horovod4j.launcher.command;

import org.horovod4j.launcher.file.YamlNode;
import org.jspecify.annotations.Nullable;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/// How `spark-submit` starts the program of a job with `engine: spark`.
///
/// @param name of the application; null for Spark's default
/// @param master as in `spark://host:7077`; null for that of Spark's own configuration
/// @param deployMode `client` or `cluster`; null for Spark's default
/// @param mainClass null for that of the jar
/// @param packages Maven coordinates of jars
/// @param coresPerWorker the cores of each executor
/// @param conf properties of Spark
public record SparkSettings(
        @Nullable String name,
        @Nullable String master,
        @Nullable String deployMode,
        @Nullable String mainClass,
        List<String> packages,
        List<String> repositories,
        List<String> jars,
        List<String> files,
        int coresPerWorker,
        Map<String, String> conf) {
    /// The value of [#deployMode] for a driver that runs in the cluster.
    private static final String CLUSTER = "cluster";

    private static final String EXECUTOR_CORES = "spark.executor.cores";

    static final String KEY = "spark";

    private static final List<String> KEYS =
            List.of(
                    "master",
                    "deploy_mode",
                    "class",
                    "packages",
                    "repositories",
                    "jars",
                    "files",
                    "conf");

    public SparkSettings {
        packages = List.copyOf(packages);
        repositories = List.copyOf(repositories);
        jars = List.copyOf(jars);
        files = List.copyOf(files);
        conf = Map.copyOf(conf);
    }

    /// Whether the driver runs in the cluster.
    public boolean isCluster() {
        return CLUSTER.equals(
                deployMode == null ? conf.get("spark.submit.deployMode") : deployMode);
    }

    /// Reads the keys under `spark`, and `resources`: Spark reserves them.
    static SparkSettings read(YamlNode.Mapping root, JobFile.Workers workers) {
        YamlNode.Mapping spark = root.section(KEY, KEYS);
        String deployMode = text(spark, "deploy_mode");
        if (deployMode != null && !List.of("client", CLUSTER).contains(deployMode)) {
            throw spark.find("deploy_mode").orElseThrow().error("write client or cluster.");
        }
        Map<String, String> conf = new LinkedHashMap<>();
        int cores = resources(root, workers, conf);
        YamlNode.Mapping given = spark.find("conf").map(YamlNode::asMapping).orElse(null);
        if (given != null) {
            given.entries().forEach((key, value) -> conf.put(key, value.asText()));
            cores = given.count(EXECUTOR_CORES, 1).orElse(cores);
        }
        return new SparkSettings(
                text(root, "project"),
                text(spark, "master"),
                deployMode,
                text(spark, "class"),
                list(spark, "packages"),
                list(spark, "repositories"),
                list(spark, "jars"),
                list(spark, "files"),
                cores,
                conf);
    }

    /// A worker is an executor, and each of its processes a task.
    ///
    /// @return the cores of an executor
    private static int resources(
            YamlNode.Mapping root, JobFile.Workers workers, Map<String, String> conf) {
        YamlNode.Mapping resources = root.find("resources").map(YamlNode::asMapping).orElse(null);
        int processes = workers.processesPerWorker();
        int cores = processes;
        if (resources != null) {
            Optional<YamlNode> cpus = resources.find("cpus");
            if (cpus.isPresent()) {
                double number = Double.parseDouble(cpus.get().asText().strip());
                cores = (int) number;
                if (cores != number || cores < processes || cores % processes != 0) {
                    throw cpus.get()
                            .error(
                                    "Spark gives each process whole cores: write a multiple of %d."
                                            .formatted(processes));
                }
            }
            resources
                    .find("mem")
                    .ifPresent(node -> conf.put("spark.executor.memory", mebibytes(node) + "m"));
        }
        if (workers.gpusPerWorker() > 0) {
            if (workers.gpusPerWorker() % processes != 0) {
                throw root.find("resources")
                        .orElseThrow()
                        .error(
                                "Spark gives each process whole GPUs: write gpus as a multiple of %d."
                                        .formatted(processes));
            }
            conf.put("spark.executor.resource.gpu.amount", "" + workers.gpusPerWorker());
            conf.put("spark.task.resource.gpu.amount", "" + workers.gpusPerWorker() / processes);
        }
        conf.put(EXECUTOR_CORES, Integer.toString(cores));
        conf.put("spark.task.cpus", Integer.toString(cores / processes));
        return cores;
    }

    private static long mebibytes(YamlNode node) {
        String text = node.asText().strip();
        double number = Double.parseDouble(text.replaceFirst("[^\\d.].*", ""));
        String unit = text.replaceFirst("[\\d.]+\\s*", "");
        double factor =
                switch (unit.isEmpty() ? 'M' : unit.charAt(0)) {
                    case 'B' -> 1.0 / (1 << 20);
                    case 'K' -> 1.0 / (1 << 10);
                    case 'G' -> 1 << 10;
                    case 'T' -> 1 << 20;
                    default -> 1;
                };
        return Math.max(1, Math.round(number * factor));
    }

    private static @Nullable String text(YamlNode.Mapping section, String key) {
        return section.find(key).map(YamlNode::asText).map(String::strip).orElse(null);
    }

    private static List<String> list(YamlNode.Mapping spark, String key) {
        return spark.find(key)
                .map(
                        node ->
                                node instanceof YamlNode.Sequence sequence
                                        ? sequence.items().stream().map(YamlNode::asText).toList()
                                        : List.of(node.asText()))
                .orElse(List.of());
    }
}

package org.horovod4j.launcher;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.command.Invocation;
import org.horovod4j.launcher.command.Invocation.Controller;
import org.horovod4j.launcher.command.SparkSettings;
import org.horovod4j.option.Option;
import org.horovod4j.option.Options;
import org.jspecify.annotations.Nullable;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/// The command line of `spark-submit` for a job.
///
/// @param launch the job
/// @param spark how it is submitted
record SparkSubmitCommand(Invocation.Launch launch, Controller.Spark spark) {
    /// The properties that `HvdSpark.ranks(spark)` reads.
    private static final String RANKS = "spark.horovod.ranks";

    private static final String MIN_RANKS = "spark.horovod.minRanks";
    private static final String MAX_RANKS = "spark.horovod.maxRanks";

    private static final String EXECUTOR_VARIABLE = "spark.executorEnv.";

    /// @param submit the program `spark-submit`
    /// @param properties the file with [#properties]
    /// @param program a jar, and the arguments of its program
    /// @throws ConfigurationException when there is no such jar
    List<String> words(Path submit, Path properties, List<String> program) {
        checkProgram(program);
        SparkSettings settings = spark.settings();
        List<String> words = new ArrayList<>(List.of(submit.toString()));
        add(words, "--master", settings.master());
        add(words, "--deploy-mode", settings.deployMode());
        add(words, "--name", settings.name());
        add(words, "--class", settings.mainClass());
        add(words, "--packages", list(settings.packages()));
        add(words, "--repositories", list(settings.repositories()));
        add(words, "--jars", list(settings.jars()));
        add(words, "--files", list(settings.files()));
        words.add("--load-spark-defaults"); // Spark would leave them out otherwise
        add(words, "--properties-file", properties.toString());
        words.addAll(program);
        return words;
    }

    private static void add(List<String> words, String flag, @Nullable String value) {
        if (value != null) {
            words.addAll(List.of(flag, value));
        }
    }

    private static @Nullable String list(List<String> values) {
        return values.isEmpty() ? null : String.join(",", values);
    }

    /// The properties of Spark. `spark.conf` of the job file overrides the others.
    ///
    /// @throws ConfigurationException when the job cannot run with `deploy_mode: cluster`
    Map<String, String> properties() {
        if (spark.settings().isCluster()) {
            checkCluster();
        }
        Map<String, String> conf = new TreeMap<>(executorVariables());
        conf.put(RANKS, Integer.toString(launch.processes()));
        launch.elasticity()
                .ifPresent(
                        elastic -> {
                            conf.put(MIN_RANKS, "" + elastic.elasticLimits().minWorkers());
                            conf.put(MAX_RANKS, "" + elastic.elasticLimits().maxWorkers());
                        });
        conf.put("spark.executor.instances", Integer.toString(spark.executors()));
        conf.put(
                "spark.cores.max", // a standalone cluster has no number of executors
                Long.toString((long) spark.executors() * spark.settings().coresPerWorker()));
        conf.putAll(spark.settings().conf());
        return conf;
    }

    /// A jar on this machine must exist; Spark finds those of other file systems.
    private static void checkProgram(List<String> program) {
        String jar = program.getFirst();
        if (jar.equals("java")) {
            throw new ConfigurationException(
                    "run: engine: spark needs the jar of the program and its arguments, as in run: train.jar"
                            + " --epochs 3. Spark runs java itself.");
        }
        if (!jar.matches("\\w{2,}:.*") && !Files.isReadable(Path.of(jar))) {
            throw new ConfigurationException(
                    "run: there is no readable file '%s', seen from %s. Name the jar of the program."
                            .formatted(jar, Path.of("").toAbsolutePath()));
        }
    }

    /// A driver in the cluster gets no options, and `spark-submit` may end before it does.
    private void checkCluster() {
        if (launch.commands().size() > 1) {
            throw new ConfigurationException(
                    "run: with deploy_mode: cluster, spark-submit may not wait for the end of a program. Write one jar under run, or deploy_mode: client.");
        }
        for (String name : launch.options().keySet()) {
            if (isOption(name)) {
                throw new ConfigurationException(
                        "%s: with deploy_mode: cluster, options do not reach the driver of Spark. Give them to HvdSpark.options in the program."
                                .formatted(name));
            }
        }
    }

    /// The properties for variables that are no options of Horovod4J. Options are in the environment
    /// of the driver, which gives them to the ranks.
    private Map<String, String> executorVariables() {
        Map<String, String> properties = new HashMap<>();
        launch.options()
                .forEach(
                        (name, value) -> {
                            if (!isOption(name)) {
                                properties.put(EXECUTOR_VARIABLE + name, value);
                            }
                        });
        return properties;
    }

    private static boolean isOption(String name) {
        return Options.all().stream().map(Option::names).anyMatch(names -> names.contains(name));
    }
}

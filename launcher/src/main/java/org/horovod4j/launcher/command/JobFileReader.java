package org.horovod4j.launcher.command;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.command.JobFile.Workers;
import org.horovod4j.launcher.file.YamlNode;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.option.ElasticOptions;
import org.horovod4j.option.Option;
import org.horovod4j.option.Options;
import org.horovod4j.option.SpellingSuggestion;

import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/// Reads the keys of a [JobFile].
final class JobFileReader {
    private static final List<String> KEYS =
            List.of(
                    "project",
                    "framework",
                    "workers",
                    "resources",
                    "hosts",
                    "engine",
                    SparkSettings.KEY,
                    "elastic",
                    "environment",
                    "run");

    private static final List<String> ELASTIC_KEYS =
            List.of(
                    "min",
                    "max",
                    "discovery",
                    "slots_per_host",
                    "timeout",
                    "reset_limit",
                    "cooldown");

    /// Those that a job on Spark can have: Spark finds the hosts.
    private static final List<String> SPARK_ELASTIC_KEYS = List.of("min", "max", "timeout");

    private static final String MPI = "mpi";
    private static final String SPARK = "spark";
    private static final List<String> ENGINES = List.of("local", "ssh", MPI, SPARK);

    /// A line without special characters of the shell except spaces.
    private static final Pattern PLAIN_JAVA = Pattern.compile("(\\S*/)?java [\\w@%+=:,./ -]+");

    private JobFileReader() {}

    static JobFile read(YamlNode.Mapping root) {
        root.requireKnownKeys(KEYS);
        Workers workers = workers(root.find("workers"), root);
        List<Host> hosts = hosts(root, workers);
        boolean isSpark = isEngine(root, SPARK);
        if (!isSpark && root.find(SparkSettings.KEY).isPresent()) {
            throw root.find(SparkSettings.KEY)
                    .orElseThrow()
                    .error(
                            "has an effect with engine: spark only. Add that line, or leave it out.");
        }
        YamlNode.Mapping elastic =
                root.section("elastic", isSpark ? SPARK_ELASTIC_KEYS : ELASTIC_KEYS);
        Map<LauncherFlag, List<String>> flags = flags(elastic);
        if (root.find("elastic").isPresent()
                && !flags.containsKey(LauncherFlag.MIN_PROCESSES)
                && !flags.containsKey(LauncherFlag.DISCOVERY_SCRIPT)) {
            throw elastic.error("needs min, discovery or both. Write, for example, min: 2.");
        }
        Map<String, String> environment = new LinkedHashMap<>();
        elastic.count("timeout", 1)
                .ifPresent(it -> environment.put(ElasticOptions.TIMEOUT.variable(), it.toString()));
        root.find("environment").ifPresent(node -> environment.putAll(environment(node)));
        return new JobFile(
                name(root, root),
                workers,
                hosts,
                isEngine(root, MPI),
                isSpark ? SparkSettings.read(root, workers) : null,
                environment,
                isSpark ? sparkPrograms(root) : commands(root),
                flags,
                List.of());
    }

    private static boolean isEngine(YamlNode.Mapping root, String name) {
        return root.find("engine").map(it -> it.asText().strip()).filter(name::equals).isPresent();
    }

    /// The name of the job in messages.
    ///
    /// @param outer the section with the project
    /// @param inner the section with the framework
    static String name(YamlNode.Mapping outer, YamlNode.Mapping inner) {
        return "project %s%s"
                .formatted(
                        outer.find("project").map(YamlNode::asText).orElse("without a name"),
                        inner.find("framework")
                                .map(it -> " (%s)".formatted(it.asText()))
                                .orElse(""));
    }

    /// The workers of a job. A worker runs one process per GPU, unless its processes are given.
    ///
    /// @param node a number, or `count` and `processes`; without it there is one worker
    /// @param parent the section with the key `resources`
    static Workers workers(Optional<YamlNode> node, YamlNode.Mapping parent) {
        int gpus = gpus(parent);
        int processes = Math.max(1, gpus);
        if (node.isEmpty()) {
            return new Workers(1, processes, gpus);
        }
        Workers workers =
                switch (node.get()) {
                    case YamlNode.Mapping mapping -> workers(mapping, processes, gpus);
                    case YamlNode.Scalar scalar -> new Workers(scalar.asCount(1), processes, gpus);
                    case YamlNode.Sequence _, YamlNode.Empty _ ->
                            throw node.get().error("needs a number, or count and processes.");
                };
        if (workers.processes() > LaunchRequest.MAX_PROCESSES) {
            throw node.get().error("%s is more than a job can have.".formatted(workers));
        }
        return workers;
    }

    private static Workers workers(YamlNode.Mapping mapping, int processes, int gpus) {
        mapping.requireKnownKeys(List.of("count", "processes"));
        return new Workers(
                mapping.count("count", 1).orElse(1),
                mapping.count("processes", 1).orElse(processes),
                gpus);
    }

    /// The values of CPUs and memory are checked but not used: without a scheduler nothing can be
    /// reserved.
    private static int gpus(YamlNode.Mapping parent) {
        YamlNode.Mapping resources = parent.section("resources", List.of("gpus", "cpus", "mem"));
        checkAmount(resources, "cpus", "\\d+(\\.\\d+)?", "as in 4 or 0.5");
        checkAmount(resources, "mem", "\\d+(\\.\\d+)?\\s*([KMGT]i?)?B?", "as in 4096 or 16G");
        return resources.count("gpus", 0).orElse(0);
    }

    private static void checkAmount(
            YamlNode.Mapping resources, String key, String syntax, String example) {
        YamlNode node = resources.find(key).orElse(null);
        if (node != null && !node.asText().strip().matches(syntax)) {
            throw node.error("'%s' is not an amount, %s.".formatted(node.asText(), example));
        }
    }

    /// The hosts; empty for this machine. A host without slots gets one worker.
    private static List<Host> hosts(YamlNode.Mapping root, Workers workers) {
        Optional<YamlNode> hosts = root.find("hosts");
        root.find("engine").ifPresent(engine -> checkEngine(engine, hosts));
        if (hosts.isEmpty()) {
            return List.of();
        }
        String text =
                hosts.get() instanceof YamlNode.Sequence sequence
                        ? sequence.items().stream()
                                .map(YamlNode::asText)
                                .collect(Collectors.joining(","))
                        : hosts.get().asText();
        return Host.list(hosts.get().location().toString(), text, workers.processesPerWorker());
    }

    private static void checkEngine(YamlNode engine, Optional<YamlNode> hosts) {
        String name = engine.asText().strip();
        if (!ENGINES.contains(name)) {
            throw engine.error(unknownEngine(name));
        }
        if (name.equals("local") && hosts.isPresent()) {
            throw engine.error(
                    "local means this machine, but hosts are named in line %d. Leave one out."
                            .formatted(hosts.get().location().line()));
        }
        if (name.equals(SPARK) && hosts.isPresent()) {
            throw engine.error(
                    "Spark chooses the hosts, but hosts are named in line %d. Leave one out."
                            .formatted(hosts.get().location().line()));
        }
        if (name.equals("ssh") && hosts.isEmpty()) {
            throw engine.error("ssh needs hosts. Name them, as in hosts: [gpu1, gpu2].");
        }
    }

    private static String unknownEngine(String name) {
        return "there is no engine '%s'.%s The engines are local, ssh, mpi and spark.%s"
                .formatted(
                        name,
                        SpellingSuggestion.question(name, ENGINES, 0),
                        name.equals("slurm")
                                ? " Under Slurm, start the program with srun in place of horovodrun."
                                : "");
    }

    /// The flags that correspond to the keys under `elastic`.
    private static Map<LauncherFlag, List<String>> flags(YamlNode.Mapping elastic) {
        Map<LauncherFlag, List<String>> flags = new EnumMap<>(LauncherFlag.class);
        putCount(elastic, "min", 1, LauncherFlag.MIN_PROCESSES, flags);
        putCount(elastic, "max", 1, LauncherFlag.MAX_PROCESSES, flags);
        putCount(elastic, "slots_per_host", 1, LauncherFlag.SLOTS_PER_HOST, flags);
        putCount(elastic, "reset_limit", 0, LauncherFlag.RESET_LIMIT, flags);
        elastic.find("discovery")
                .ifPresent(it -> flags.put(LauncherFlag.DISCOVERY_SCRIPT, List.of(it.asText())));
        elastic.find("cooldown").ifPresent(it -> flags.put(LauncherFlag.COOLDOWN_RANGE, range(it)));
        return flags;
    }

    private static void putCount(
            YamlNode.Mapping mapping,
            String key,
            int min,
            LauncherFlag flag,
            Map<LauncherFlag, List<String>> flags) {
        mapping.count(key, min).ifPresent(it -> flags.put(flag, List.of(it.toString())));
    }

    private static List<String> range(YamlNode node) {
        if (node instanceof YamlNode.Sequence sequence && sequence.items().size() == 2) {
            return sequence.items().stream().map(it -> Integer.toString(it.asCount(1))).toList();
        }
        throw node.error("needs two numbers of seconds, as in [10, 300].");
    }

    /// Variables for all processes. An invalid `HOROVOD_*` value is rejected here, with its line,
    /// instead of in the processes.
    private static Map<String, String> environment(YamlNode node) {
        Map<String, String> variables = new LinkedHashMap<>();
        node.asMapping()
                .entries()
                .forEach(
                        (name, value) -> {
                            String text = value instanceof YamlNode.Empty ? "" : value.asText();
                            checkVariable(name, text, value);
                            variables.put(name, text);
                        });
        return variables;
    }

    private static void checkVariable(String name, String text, YamlNode value) {
        if (!name.matches("[A-Za-z_]\\w*")) {
            throw value.error("'%s' is not the name of a variable.".formatted(name));
        }
        for (Option<?> option : Options.all()) {
            if (option.names().contains(name) && !text.isBlank()) {
                checkOption(option, text, value);
            }
        }
    }

    private static void checkOption(Option<?> option, String text, YamlNode value) {
        if (option.flags().isEmpty()) {
            throw value.error("horovodrun sets this one for each process. Leave it out.");
        }
        try {
            option.parse(option.variable(), text);
        } catch (ConfigurationException e) {
            throw new ConfigurationException(
                    "%s: %s".formatted(value.location().withoutKey(), e.getMessage()), e);
        }
    }

    /// The key `run`: the commands that each process runs, line by line.
    ///
    /// A line is passed to `sh -c`, so variables, pipes and `&&` work. But a plain `java …` line is
    /// run directly, as from the command line, with the right Java and the options it needs.
    ///
    /// @param mapping the section with the key
    static List<List<String>> commands(YamlNode.Mapping mapping) {
        return lines(mapping, "the command of each process, as in run: java -jar train.jar")
                .stream()
                .map(JobFileReader::words)
                .toList();
    }

    /// The key `run` of a job on Spark: a jar with its arguments, line by line.
    private static List<List<String>> sparkPrograms(YamlNode.Mapping mapping) {
        return lines(mapping, "the jar and its arguments, as in run: train.jar --epochs 3").stream()
                .map(line -> ShellWords.split("run", line))
                .toList();
    }

    private static List<String> lines(YamlNode.Mapping mapping, String missing) {
        YamlNode run = mapping.find("run").orElse(null);
        if (run == null) {
            throw mapping.error("the key run is missing. Add %s".formatted(missing));
        }
        List<String> lines =
                switch (run) {
                    case YamlNode.Scalar scalar -> lines(scalar.text());
                    case YamlNode.Sequence sequence ->
                            sequence.items().stream().map(JobFileReader::line).toList();
                    case YamlNode.Mapping _, YamlNode.Empty _ ->
                            throw run.error("needs a command, or a list of them.");
                };
        if (lines.isEmpty() || lines.contains("")) {
            throw run.error("a command is empty.");
        }
        return lines;
    }

    private static String line(YamlNode item) {
        if (item instanceof YamlNode.Mapping) {
            throw item.error(
                    "a command with a colon and a space reads as a key and its value. Put it"
                            + " between quotes.");
        }
        return item.asText().strip();
    }

    /// The lines of a text. A backslash at the end of a line joins it with the next.
    private static List<String> lines(String text) {
        return text.replaceAll("\\\\\\R", " ")
                .lines()
                .map(String::strip)
                .filter(line -> !line.isEmpty())
                .toList();
    }

    private static List<String> words(String line) {
        return PLAIN_JAVA.matcher(line).matches()
                ? List.of(line.split(" +"))
                : List.of("sh", "-c", line);
    }
}

package org.horovod4j.launcher.function;

import org.jspecify.annotations.Nullable;

import java.io.File;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// The command line of a rank that runs a function: this JVM's `java`, options and class path, and
/// [RankMain].
///
/// @param java the program to run; null for this JVM's own
/// @param classPath replaces this JVM's class path and module path; null to keep them
/// @param jvmOptions more options, which take precedence over this JVM's
public record RankCommand(
        @Nullable String java, @Nullable String classPath, List<String> jvmOptions) {
    /// Options that affect how classes load and work. The size of the heap is not included: the
    /// ranks of a host together would need a multiple of it.
    private static final List<String> INHERITED =
            List.of(
                    "--add-opens=",
                    "--add-exports=",
                    "--add-reads=",
                    "--enable-native-access=",
                    "--enable-preview",
                    "-ea",
                    "-da",
                    "-esa",
                    "-dsa",
                    "-D");

    /// A port for remote monitoring can be opened only once.
    private static final String MONITORING = "-Dcom.sun.management.";

    private static final String ADD_MODULES = "--add-modules=";

    /// The launcher adds it to every Java program, and suppresses the JVM's warning.
    private static final String VECTOR_MODULE = "jdk.incubator.vector";

    public RankCommand {
        jvmOptions = List.copyOf(jvmOptions);
    }

    /// The arguments of the command.
    ///
    /// @param serverAddresses of the [FunctionServer]
    public List<String> commandLine(String serverAddresses) {
        return commandLine(RankMain.class.getName(), List.of(serverAddresses));
    }

    /// The command that runs another main class in the same way.
    public List<String> commandLine(String mainClass, List<String> arguments) {
        List<String> words = new ArrayList<>();
        words.add(java == null ? Path.of(property("java.home"), "bin", "java").toString() : java);
        words.addAll(inherited());
        words.addAll(classes());
        words.addAll(jvmOptions);
        words.add(mainClass);
        words.addAll(arguments);
        return words;
    }

    private static List<String> inherited() {
        return ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .flatMap(RankCommand::inherited)
                .toList();
    }

    private static Stream<String> inherited(String option) {
        if (option.startsWith(ADD_MODULES)) {
            String others =
                    Arrays.stream(option.substring(ADD_MODULES.length()).split(","))
                            .filter(module -> !module.equals(VECTOR_MODULE))
                            .collect(Collectors.joining(","));
            return others.isEmpty() ? Stream.empty() : Stream.of(ADD_MODULES + others);
        }
        boolean wanted =
                INHERITED.stream().anyMatch(option::startsWith) && !option.startsWith(MONITORING);
        return wanted ? Stream.of(option) : Stream.empty();
    }

    private List<String> classes() {
        if (classPath != null) {
            return List.of("-cp", classPath);
        }
        List<String> words = new ArrayList<>();
        String modules = property("jdk.module.path");
        if (!modules.isEmpty()) {
            words.addAll(List.of("--module-path", absolute(modules)));
            words.add(ADD_MODULES + "ALL-MODULE-PATH");
        }
        String classes = property("java.class.path");
        if (!classes.isEmpty()) {
            words.addAll(List.of("-cp", absolute(classes)));
        }
        return words;
    }

    /// A rank may run in another folder or on another host.
    private static String absolute(String path) {
        return Arrays.stream(path.split(File.pathSeparator))
                .map(part -> Path.of(part).toAbsolutePath().toString())
                .collect(Collectors.joining(File.pathSeparator));
    }

    private static String property(String name) {
        return System.getProperty(name, "");
    }
}

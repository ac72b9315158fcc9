package org.horovod4j.launcher.process;

import org.jspecify.annotations.Nullable;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/// The words of a `java` command up to its main class that decide which classes it loads.
///
/// @param options all words that the JVM itself reads
/// @param classPath null when there is none, or it is given in a form that is not supported here
record JavaArguments(List<String> options, @Nullable String classPath) {
    private static final Set<String> CLASS_PATH = Set.of("-cp", "-classpath", "--class-path");

    /// Options that are followed by a value.
    private static final Set<String> OPTIONS_WITH_VALUE =
            Set.of(
                    "--add-modules",
                    "--add-opens",
                    "--add-exports",
                    "--add-reads",
                    "--enable-native-access",
                    "--limit-modules");

    JavaArguments {
        options = List.copyOf(options);
    }

    /// Parses a command whose first word is `java`.
    static JavaArguments of(List<String> command) {
        String classPath = null;
        int at = 1;
        while (at < command.size() && command.get(at).startsWith("-")) {
            String word = command.get(at);
            if (word.equals("-jar") && at + 1 < command.size()) {
                return new JavaArguments(command.subList(1, at + 2), command.get(at + 1));
            }
            if (CLASS_PATH.contains(word) && at + 1 < command.size()) {
                classPath = command.get(at + 1);
                at++;
            } else if (word.startsWith("--class-path=")) {
                classPath = word.substring("--class-path=".length());
            } else if (OPTIONS_WITH_VALUE.contains(word)) {
                at++;
            }
            at++;
        }
        boolean named = at < command.size() && !command.get(at).endsWith(".java");
        return new JavaArguments(
                command.subList(1, Math.min(at, command.size())), named ? classPath : null);
    }

    /// The jars of the class path that do not exist, and `folder/*` without the folder, seen from the
    /// current folder.
    List<String> missingJars() {
        return classPath == null
                ? List.of()
                : Stream.of(classPath.split(File.pathSeparator, -1))
                        .filter(JavaArguments::isMissing)
                        .toList();
    }

    private static boolean isMissing(String part) {
        return part.endsWith(".jar")
                ? !Files.exists(Path.of(part))
                : part.endsWith("/*") && !Files.exists(Path.of(part).getParent());
    }

    boolean hasOption(String prefix) {
        return options.stream().anyMatch(option -> option.startsWith(prefix));
    }
}

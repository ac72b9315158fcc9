package org.horovod4j.launcher.process;

import java.util.List;
import java.util.function.Supplier;

/// The command that every rank runs.
///
/// @param command its words, as they will be run
/// @param unwantedLine a line that the launcher's own additions cause on standard error; empty for
///     none
public record Program(List<String> command, String unwantedLine) {
    public Program {
        command = List.copyOf(command);
    }

    /// Looks for the program that `words` name, and turns `java` into a `java` that fits.
    ///
    /// @throws org.horovod4j.ConfigurationException when there is no such program
    public static Program of(List<String> words, SearchPath path, JavaHome own) {
        return of(words, path, () -> own.orBetter(path.lookUp("java")));
    }

    /// Looks for the program that `words` name, where the bare word `java` means a certain one.
    ///
    /// @throws org.horovod4j.ConfigurationException when there is no such program
    public static Program of(List<String> words, SearchPath path, Supplier<String> java) {
        String first = words.getFirst();
        if (first.equals("java")) {
            return new JavaCommand(words).program(java.get());
        }
        path.find(first);
        return first.endsWith("/java")
                ? new JavaCommand(words).program(first)
                : new Program(words, "");
    }

    /// As one would type it, for messages.
    @Override
    public String toString() {
        return String.join(" ", command.stream().map(Program::quoted).toList());
    }

    private static String quoted(String word) {
        return word.matches("[\\w@%+=:,./-]+") ? word : "'" + word.replace("'", "'\\''") + "'";
    }
}

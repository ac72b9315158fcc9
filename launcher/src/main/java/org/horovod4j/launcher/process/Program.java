package org.horovod4j.launcher.process;

import org.jspecify.annotations.Nullable;

import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;

/// The command that every rank runs.
///
/// @param command its words, as they will be run
/// @param unwantedLine a line that the launcher's own additions cause on standard error; empty for
///     none
/// @param archive of its classes; null for none
public record Program(List<String> command, String unwantedLine, @Nullable ClassArchive archive) {
    public Program {
        command = List.copyOf(command);
    }

    /// A program without an archive.
    public Program(List<String> command, String unwantedLine) {
        this(command, unwantedLine, null);
    }

    /// The same with an archive of its classes, if it is a Java program that can have one.
    ///
    /// @param folder where archives are kept
    /// @param jobVariable the job that it is for, in the form `NAME=value`
    public Program withArchive(SearchPath path, Path folder, String jobVariable) {
        String first = command.getFirst();
        Path java = first.equals("java") || first.endsWith("/java") ? path.find(first) : null;
        return java == null
                ? this
                : new Program(
                        command, unwantedLine, ClassArchive.of(java, command, folder, jobVariable));
    }

    /// The words that one rank runs.
    public List<String> command(int rank) {
        return archive == null ? command : archive.applyTo(command, rank);
    }

    /// Tells how many ranks are to start on this machine, before any does.
    ///
    /// @param givenUp when complete, none are: this need not take its time
    public void prepare(int ranks, CompletionStage<?> givenUp) {
        if (archive != null) {
            archive.warmUp(ranks, givenUp);
        }
    }

    /// Tells how the job ended.
    ///
    /// @param givenUp when complete, the user waits: this need not take its time
    public void ended(boolean wentWell, CompletionStage<?> givenUp) {
        if (archive != null) {
            archive.finish(wentWell, givenUp);
        }
    }

    /// Looks for the program that `words` name, and turns `java` into a `java` that fits.
    ///
    /// @throws org.horovod4j.ConfigurationException when there is no such program
    public static Program of(List<String> words, SearchPath path, JavaHome own) {
        return of(words, path, () -> own.selectJava(path.lookUp("java")));
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

package org.horovod4j.launcher.process;

import org.jspecify.annotations.Nullable;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import java.util.stream.Stream;

/// The command that every rank runs.
///
/// @param command its words, as they will be run
/// @param unwantedLine a line on standard error that options of the launcher cause; empty for none
/// @param missingJars jars of its class path that do not exist; the JVM ignores them silently
/// @param archive of its classes; null for none
public record Program(
        List<String> command,
        String unwantedLine,
        List<String> missingJars,
        @Nullable ClassArchive archive) {
    private static final String VECTOR_MODULE = "jdk.incubator.vector";
    private static final String ADD_MODULES = "--add-modules";

    /// The two options that Horovod4J works best with.
    ///
    /// The vector module is an incubator module: the JVM resolves it only on request, and prints a
    /// one-line warning. The launcher hides the warning if it added the option, not if the user did.
    static final List<String> JAVA_OPTIONS =
            List.of(ADD_MODULES, VECTOR_MODULE, "--enable-native-access=ALL-UNNAMED");

    private static final String VECTOR_WARNING =
            "WARNING: Using incubator modules: " + VECTOR_MODULE;

    private static final String FLIGHT_RECORDING = "-XX:StartFlightRecording";
    private static final String ENVIRONMENT_EVENT = "jdk.InitialEnvironmentVariable";

    public Program {
        command = List.copyOf(command);
        missingJars = List.copyOf(missingJars);
    }

    /// A program without an archive and without missing jars.
    public Program(List<String> command, String unwantedLine) {
        this(command, unwantedLine, List.of(), null);
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
                        command,
                        unwantedLine,
                        missingJars,
                        ClassArchive.of(java, command, folder, jobVariable));
    }

    /// What may be wrong with the command.
    public List<String> notices() {
        return missingJars.stream()
                .map("the class path names %s, and there is no such file"::formatted)
                .toList();
    }

    /// The command line of one rank.
    public List<String> command(int rank) {
        return archive == null ? command : archive.applyTo(command, rank);
    }

    /// To be called before ranks start on this machine.
    ///
    /// @param cancellation when complete, this ends early
    public void prepare(int ranks, CompletionStage<?> cancellation) {
        if (archive != null) {
            archive.warmUp(ranks, cancellation);
        }
    }

    /// To be called when the job has ended.
    ///
    /// @param cancellation when complete, this ends early
    public void ended(boolean succeeded, CompletionStage<?> cancellation) {
        if (archive != null) {
            archive.finish(succeeded, cancellation);
        }
    }

    /// Finds the program that `words` name. The word `java` becomes a `java` that is new enough.
    ///
    /// @throws org.horovod4j.ConfigurationException when there is no such program
    public static Program of(List<String> words, SearchPath path, JavaHome own) {
        return of(words, path, () -> own.selectJava(path.lookUp("java")));
    }

    /// Finds the program that `words` name.
    ///
    /// @param java what the bare word `java` means
    /// @throws org.horovod4j.ConfigurationException when there is no such program
    public static Program of(List<String> words, SearchPath path, Supplier<String> java) {
        String first = words.getFirst();
        if (first.equals("java")) {
            return ofJava(java.get(), words.subList(1, words.size()));
        }
        path.find(first);
        return first.endsWith("/java")
                ? ofJava(first, words.subList(1, words.size()))
                : new Program(words, "");
    }

    private static Program ofJava(String java, List<String> arguments) {
        boolean isComplete = addsVectorModule(arguments);
        List<String> command = new ArrayList<>(List.of(java));
        command.addAll(isComplete ? List.of() : JAVA_OPTIONS);
        JavaArguments words =
                JavaArguments.of(Stream.concat(Stream.of(java), arguments.stream()).toList());
        int options = words.options().size();
        for (int at = 0; at < arguments.size(); at++) {
            String word = arguments.get(at);
            command.add(at < options ? withoutEnvironmentEvent(word) : word);
        }
        return new Program(command, isComplete ? "" : VECTOR_WARNING, words.missingJars(), null);
    }

    /// An option that starts Flight Recorder, with the event switched off that records the whole
    /// environment: others may read the file. An option that names the event itself stays as it is.
    private static String withoutEnvironmentEvent(String option) {
        if (!option.startsWith(FLIGHT_RECORDING)
                || option.contains(ENVIRONMENT_EVENT)
                || option.endsWith("help")) {
            return option;
        }
        String separator =
                option.equals(FLIGHT_RECORDING) ? ":" : option.matches(".*[:=,]") ? "" : ",";
        return option + separator + ENVIRONMENT_EVENT + "#enabled=false";
    }

    /// Whether `--add-modules a,b` or `--add-modules=a,b` is there with the vector module.
    private static boolean addsVectorModule(List<String> arguments) {
        String previous = "";
        for (String word : arguments) {
            String joined = previous.equals(ADD_MODULES) ? ADD_MODULES + "=" + word : word;
            if (joined.startsWith(ADD_MODULES + "=")
                    && List.of(joined.split("[=,]")).contains(VECTOR_MODULE)) {
                return true;
            }
            previous = word;
        }
        return false;
    }

    /// As a shell command, for messages.
    @Override
    public String toString() {
        return String.join(" ", command.stream().map(Program::quoted).toList());
    }

    private static String quoted(String word) {
        return word.matches("[\\w@%+=:,./-]+") ? word : "'" + word.replace("'", "'\\''") + "'";
    }
}

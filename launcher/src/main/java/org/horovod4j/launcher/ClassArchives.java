package org.horovod4j.launcher;

import org.horovod4j.launcher.process.Program;
import org.horovod4j.launcher.process.SearchPath;
import org.horovod4j.option.Environment;
import org.horovod4j.option.Options;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/// The class archives of this machine, which make Java programs start faster.
///
/// @param folder where they are kept: where [Options#CLASS_ARCHIVES] says, else in the user's cache
/// @param jobVariable the job that they are for, in the form `NAME=value`
record ClassArchives(Path folder, SearchPath path, String jobVariable) {
    private static final String NONE = "none";

    /// Options for every JVM. An agent that is named there prevents archives and ends the JVM that
    /// would write one.
    private static final List<String> JVM_VARIABLES =
            List.of("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS");

    /// Empty when archives are switched off, the user has no home, or variables change every JVM.
    ///
    /// @param variables the environment of the processes of the job
    static Optional<ClassArchives> of(Map<String, String> variables, String jobVariable) {
        if (JVM_VARIABLES.stream().anyMatch(name -> !variables.getOrDefault(name, "").isBlank())) {
            return Optional.empty();
        }
        SearchPath path = SearchPath.of(variables.getOrDefault("PATH", ""));
        return folder(variables).map(folder -> new ClassArchives(folder, path, jobVariable));
    }

    private static Optional<Path> folder(Map<String, String> variables) {
        Optional<String> chosen = new Environment(variables).find(Options.CLASS_ARCHIVES);
        if (chosen.isPresent()) {
            return chosen.filter(text -> !text.equals(NONE)).map(Path::of);
        }
        String cache = variables.getOrDefault("XDG_CACHE_HOME", "");
        String home = variables.getOrDefault("HOME", "");
        if (cache.isBlank() && home.isBlank()) {
            return Optional.empty();
        }
        return Optional.of(
                (cache.isBlank() ? Path.of(home, ".cache") : Path.of(cache)).resolve("horovod4j"));
    }

    /// The program with its archive, if it can have one.
    Program of(Program program) {
        return program.withArchive(path, folder, jobVariable);
    }
}

package org.horovod4j.testsupport;

import java.io.File;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// The command line of a JVM that a test starts: the JDK of this JVM and, unless a test says
/// otherwise, its class path.
///
/// @param flags of the JVM
/// @param main the class to run
public record TestJvm(List<String> flags, String classPath, String main, List<String> arguments) {
    /// The `java` command of the JDK that runs this JVM.
    public static final String JAVA =
            Path.of(System.getProperty("java.home"), "bin", "java").toString();

    public static final String CLASS_PATH = System.getProperty("java.class.path");

    /// The libraries of this JVM, without our own modules: for programs that do not use Horovod4J.
    public static final String LIBRARIES =
            Stream.of(CLASS_PATH.split(File.pathSeparator))
                    .filter(entry -> entry.endsWith(".jar"))
                    .filter(
                            entry ->
                                    !entry.substring(entry.lastIndexOf(File.separatorChar) + 1)
                                            .startsWith("horovod4j"))
                    .collect(Collectors.joining(File.pathSeparator));

    /// For programs that end within seconds: the first compiler and the serial collector start
    /// fastest.
    public static final List<String> SHORT_LIVED =
            List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC");

    /// Without the file of performance data: two JVMs that start at the same time can both lock it,
    /// and one of them then writes a warning to standard output.
    public static final String NO_PERFORMANCE_DATA = "-XX:-UsePerfData";

    public TestJvm {
        flags = List.copyOf(flags);
        arguments = List.copyOf(arguments);
    }

    public static TestJvm of(Class<?> main, String... arguments) {
        return new TestJvm(List.of(), CLASS_PATH, main.getName(), List.of(arguments));
    }

    public TestJvm with(String... moreFlags) {
        return new TestJvm(join(flags, List.of(moreFlags)), classPath, main, arguments);
    }

    /// Modules and access that the vector kernels and shared memory need.
    public TestJvm withVectors() {
        return with("--add-modules", "jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED");
    }

    /// With the flags [#SHORT_LIVED].
    public TestJvm shortLived() {
        return with(SHORT_LIVED.toArray(String[]::new));
    }

    public TestJvm onClassPath(String path) {
        return new TestJvm(flags, path, main, arguments);
    }

    /// Leaves out every library: the class path has only the folders or jars of these classes.
    public TestJvm onClassPathOf(Class<?>... types) {
        return onClassPath(
                Stream.of(types)
                        .map(type -> location(type).toString())
                        .distinct()
                        .collect(Collectors.joining(File.pathSeparator)));
    }

    /// Adds all jars of a folder to the class path.
    public TestJvm withJars(Path folder) {
        return onClassPath(classPath + File.pathSeparator + folder.toAbsolutePath() + "/*");
    }

    /// The command line.
    public List<String> words() {
        return join(
                join(List.of(JAVA, NO_PERFORMANCE_DATA), flags),
                join(List.of("-cp", classPath, main), arguments));
    }

    /// The command line, run by another command.
    ///
    /// @param prefix a command that runs the command that follows its own arguments
    public List<String> words(List<String> prefix) {
        return join(prefix, words());
    }

    /// The folder or jar that contains a class.
    public static Path location(Class<?> type) {
        try {
            return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
        } catch (URISyntaxException e) {
            throw new IllegalStateException("the location of " + type + " is not a path", e);
        }
    }

    private static List<String> join(List<String> first, List<String> second) {
        return Stream.concat(first.stream(), second.stream()).toList();
    }
}

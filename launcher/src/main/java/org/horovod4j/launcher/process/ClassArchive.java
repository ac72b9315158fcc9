package org.horovod4j.launcher.process;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.file.PrivatePath;
import org.jspecify.annotations.Nullable;

import java.io.File;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;

/// An archive of the classes of a Java program, in the form that the JVM uses in memory. It halves
/// the processor time that each rank of the next job takes to start.
///
/// This is class data sharing (CDS) of the JDK, which itself checks that an archive fits. In the
/// first job rank 0 lists the classes that it loads. When the job has succeeded, the launcher runs
/// a JVM that writes the archive under a temporary name, and renames it when it is complete: ranks
/// never see half an archive. The name depends on the program and the JDK; the oldest archives are
/// removed.
///
/// If very many ranks start in the first job, a training run before it loads the classes of their
/// start, and the job uses an archive of those.
///
/// Rank 0 could write an archive when it exits (a dynamic archive). That one would extend the JDK's
/// own archive, which lacks our modules, and cost ranks a tenth more at start.
public final class ClassArchive {
    private static final int MAX_ARCHIVES = 16;
    private static final Duration STALE_AGE = Duration.ofDays(1);
    private static final String EXTENSION = ".jsa";
    private static final String TEMP_EXTENSION = ".new";

    /// Silences messages about archives that do not fit: the JVM then runs without one.
    private static final String DISABLE_CDS_LOG = "-Xlog:cds=off,cds+dynamic=off";

    /// Options that change which classes are loaded, or archives of the user.
    private static final List<String> INCOMPATIBLE_OPTIONS =
            List.of(
                    "-XX:SharedArchiveFile",
                    "-XX:ArchiveClassesAtExit",
                    "-XX:+AutoCreateSharedArchive",
                    "-XX:AOT",
                    "-XX:SharedClassListFile",
                    "-XX:DumpLoadedClassList",
                    "-Xshare",
                    "-Xbootclasspath",
                    "-Xlog:cds",
                    "-Xlog:disable",
                    "-javaagent",
                    "-agentlib",
                    "-agentpath",
                    "--patch-module",
                    "--upgrade-module-path",
                    "--module-path",
                    "-p");

    /// From how many ranks per processor a training run pays: it costs what eight of them save.
    private static final int MIN_RANKS_PER_PROCESSOR = 16;

    private static final String WARM_UP_CLASS = "org.horovod4j.runtime.CdsTrainingRun";

    /// How long a JVM may write an archive. A program of ten thousand classes takes some seconds.
    private static final Duration TIMEOUT = Duration.ofMinutes(1);

    private final Path java;
    private final List<String> options;
    private final Path file;
    private final Path tempFile;
    private final Path classList;
    private final String jobVariable;
    private final boolean exists;
    private boolean warmedUp;

    private ClassArchive(Path java, List<String> options, Path file, String jobVariable) {
        this.java = java;
        this.options = options;
        this.file = file;
        this.jobVariable = jobVariable;
        String job = UUID.randomUUID().toString();
        this.tempFile = file.resolveSibling(job + TEMP_EXTENSION);
        this.classList = file.resolveSibling(job + ".classes" + TEMP_EXTENSION);
        this.exists = Files.isRegularFile(file);
    }

    /// The archive for a command, or null when there can be none: the JDK archives only classes of
    /// jars, and not with every option.
    ///
    /// @param java that runs it
    /// @param command whose first word is that `java`
    /// @param folder where archives are kept; created if it does not exist
    /// @param jobVariable the job that it is for, in the form `NAME=value`
    static @Nullable ClassArchive of(
            Path java, List<String> command, Path folder, String jobVariable) {
        JavaArguments words = JavaArguments.of(command);
        if (words.classPath() == null
                || INCOMPATIBLE_OPTIONS.stream().anyMatch(words::hasOption)
                || command.stream().anyMatch(word -> word.startsWith("@"))) { // a file of options
            return null;
        }
        try {
            String name = name(java, words, words.classPath());
            if (name == null) {
                return null;
            }
            Files.createDirectories(
                    folder, PrivatePath.withPermissions(folder, PrivatePath.OWNER_ONLY_FOLDER));
            Path file = folder.resolve(name + EXTENSION);
            return isSafe(folder) && isSafe(file) && Files.isWritable(folder)
                    ? new ClassArchive(java, words.options(), file, jobVariable)
                    : null;
        } catch (IOException e) {
            log("No archive of classes in " + folder, e);
            return null;
        }
    }

    /// Whether only this user can have written a file or folder, if it exists: the JVM runs the code
    /// of an archive without any check.
    private static boolean isSafe(Path path) throws IOException {
        Optional<String> problem =
                Files.exists(path, LinkOption.NOFOLLOW_LINKS)
                        ? PrivatePath.replaceable(path)
                        : Optional.empty();
        problem.ifPresent(
                how ->
                        System.getLogger(ClassArchive.class.getName())
                                .log(
                                        Level.WARNING,
                                        "No class archives: %s, so another user could put code there."
                                                        .formatted(how)
                                                + " Ranks start without them. Set --class-archives to"
                                                + " a folder that only you can write to, or to none."));
        return problem.isEmpty();
    }

    /// Depends on everything that decides which classes are loaded: the JDK, its options, and the
    /// jars with their sizes and times.
    private static @Nullable String name(Path java, JavaArguments words, String classPath)
            throws IOException {
        StringBuilder key = new StringBuilder();
        Path real = java.toRealPath();
        describe(real.resolve("../../lib/modules").normalize(), key);
        key.append(words.options());
        for (String entry : classPath.split(File.pathSeparator, -1)) {
            for (Path jar : jars(entry)) {
                if (!jar.toString().endsWith(".jar") || !Files.isRegularFile(jar)) {
                    return null;
                }
                describe(jar, key);
            }
        }
        return UUID.nameUUIDFromBytes(key.toString().getBytes(UTF_8)).toString();
    }

    private static List<Path> jars(String entry) throws IOException {
        if (!entry.endsWith("/*")) {
            return List.of(Path.of(entry));
        }
        try (Stream<Path> files = Files.list(Path.of(entry.substring(0, entry.length() - 2)))) {
            return files.filter(file -> file.toString().endsWith(".jar")).sorted().toList();
        }
    }

    private static void describe(Path file, StringBuilder key) throws IOException {
        key.append(file.toAbsolutePath())
                .append(' ')
                .append(Files.size(file))
                .append(' ')
                .append(Files.getLastModifiedTime(file).toMillis())
                .append('\n');
    }

    /// To be called before the job: makes an archive for this job only, if there is none and the
    /// job has enough ranks.
    ///
    /// @param ranks how many start on this machine
    /// @param cancellation when complete, this ends early
    void warmUp(int ranks, CompletionStage<?> cancellation) {
        if (exists
                || ranks < MIN_RANKS_PER_PROCESSOR * Runtime.getRuntime().availableProcessors()) {
            return;
        }
        List<String> words = new ArrayList<>();
        words.add("-XX:DumpLoadedClassList=" + classList);
        words.addAll(Program.JAVA_OPTIONS);
        words.addAll(List.of("-cp", System.getProperty("java.class.path"), WARM_UP_CLASS));
        try {
            warmedUp = runJvm(words, cancellation) && dump(cancellation);
        } catch (IOException e) {
            log("No archive of classes from a training run", e);
        }
    }

    /// The command of a rank. It uses the archive if there is one; otherwise rank 0 lists its
    /// classes.
    List<String> applyTo(List<String> command, int rank) {
        List<String> words = new ArrayList<>(command);
        if (!exists && rank == 0) {
            words.add(1, "-XX:DumpLoadedClassList=" + classList);
        }
        if (exists || warmedUp) {
            words.addAll(
                    1,
                    List.of(
                            "-XX:SharedArchiveFile=" + (exists ? file : tempFile),
                            DISABLE_CDS_LOG));
        }
        return words;
    }

    /// To be called when the job has ended: if it succeeded, makes an archive of the classes that
    /// rank 0 listed.
    ///
    /// @param cancellation when complete, this ends early
    void finish(boolean succeeded, CompletionStage<?> cancellation) {
        try {
            if (exists) {
                Files.setLastModifiedTime(file, FileTime.from(Instant.now()));
            } else if (succeeded && Files.exists(classList) && dump(cancellation)) {
                Files.move(tempFile, file, StandardCopyOption.ATOMIC_MOVE);
                deleteOldArchives();
            }
            Files.deleteIfExists(classList);
            Files.deleteIfExists(tempFile);
        } catch (IOException e) {
            log("An archive of classes is lost", e);
        }
    }

    /// Runs a JVM that writes an archive of the listed classes, and returns whether it succeeded.
    private boolean dump(CompletionStage<?> cancellation) throws IOException {
        List<String> words = new ArrayList<>();
        words.add("-Xshare:dump");
        words.add("-XX:SharedClassListFile=" + classList);
        words.add("-XX:SharedArchiveFile=" + tempFile);
        words.addAll(options);
        return runJvm(words, cancellation);
    }

    /// Runs a JVM that prints nothing and ends with the job, and returns whether it exited with 0.
    private boolean runJvm(List<String> arguments, CompletionStage<?> cancellation)
            throws IOException {
        List<String> command = new ArrayList<>(List.of(java.toString()));
        command.addAll(arguments);
        ProcessBuilder builder =
                new ProcessBuilder(command)
                        .redirectOutput(Redirect.DISCARD)
                        .redirectError(Redirect.DISCARD);
        Map<String, String> variables = builder.environment();
        variables.keySet().removeIf(name -> name.startsWith("HOROVOD_"));
        String[] mark = jobVariable.split("=", 2); // for the watchdog
        variables.put(mark[0], mark[1]);
        Process process = builder.start();
        var _ = cancellation.thenRun(process::destroyForcibly);
        try {
            return process.waitFor(TIMEOUT) && process.exitValue() == 0;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        } finally {
            process.destroyForcibly();
        }
    }

    /// Removes the least recently used archives, and files that killed jobs left behind.
    private void deleteOldArchives() throws IOException {
        List<Path> archives;
        Instant abandoned = Instant.now().minus(STALE_AGE);
        try (Stream<Path> files = Files.list(file.resolveSibling("."))) {
            archives =
                    files.sorted(Comparator.comparing(ClassArchive::lastUsed).reversed()).toList();
        }
        int kept = 0;
        for (Path each : archives) {
            boolean surplus = each.toString().endsWith(EXTENSION) && ++kept > MAX_ARCHIVES;
            if (surplus
                    || (each.toString().endsWith(TEMP_EXTENSION)
                            && lastUsed(each).isBefore(abandoned))) {
                Files.deleteIfExists(each);
            }
        }
    }

    private static Instant lastUsed(Path file) {
        try {
            return Files.getLastModifiedTime(file).toInstant();
        } catch (IOException e) {
            return Instant.EPOCH; // another job has just removed it
        }
    }

    private static void log(String message, IOException cause) {
        System.getLogger(ClassArchive.class.getName()).log(Level.DEBUG, message, cause);
    }
}

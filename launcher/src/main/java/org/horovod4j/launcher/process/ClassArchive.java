package org.horovod4j.launcher.process;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;

/// The classes of a Java program as the JVM has prepared them, kept for the next start of the same
/// program: each rank then starts with half the processor time.
///
/// It is class data sharing of the JDK, which checks by itself that the archive fits. In the first job
/// rank 0 lists the classes that it loads. When the job has ended well, the launcher lets a JVM make
/// the archive of them, under a name of this job alone, and gives it its own name when it is whole: so
/// no rank ever sees half an archive. A program that changes, or another JDK, has another name; the
/// oldest archives are removed.
///
/// A first job of very many ranks does not start without: they use one of the classes that a
/// rehearsal of their start has loaded.
///
/// Rank 0 could write one as it ends, but that would build on the JDK's own archive, which does not
/// know of our modules: ranks start with a tenth more work from such a one.
public final class ClassArchive {
    private static final int MAX_ARCHIVES = 16;
    private static final Duration STALE_AGE = Duration.ofDays(1);
    private static final String EXTENSION = ".jsa";
    private static final String TEMP_EXTENSION = ".new";

    /// What the JVM says about archives that do not fit is of no interest: it goes on without.
    private static final String DISABLE_CDS_LOG = "-Xlog:cds=off,cds+dynamic=off";

    /// Options that have their own idea of the classes.
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

    /// Ranks of one processor for whom a rehearsal pays: it costs about as much as eight of them save.
    private static final int MIN_RANKS_PER_PROCESSOR = 16;

    private static final String WARM_UP_CLASS = "org.horovod4j.runtime.CdsTrainingRun";

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

    /// The archive for a command, or null when there can be none: the JDK archives classes of jars
    /// alone, and only where the options leave it to do so.
    ///
    /// @param java that runs it
    /// @param command whose first word is that `java`
    /// @param folder where archives are kept; it is made if need be
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
                    folder,
                    PosixFilePermissions.asFileAttribute(
                            PosixFilePermissions.fromString("rwx------")));
            return Files.isWritable(folder)
                    ? new ClassArchive(
                            java, words.options(), folder.resolve(name + EXTENSION), jobVariable)
                    : null;
        } catch (IOException e) {
            log("No archive of classes in " + folder, e);
            return null;
        }
    }

    /// All that decides which classes are loaded and how: the JDK, its options, and the jars with
    /// their sizes and times.
    private static @Nullable String name(Path java, JavaArguments words, String classPath)
            throws IOException {
        StringBuilder key = new StringBuilder();
        Path real = java.toRealPath();
        describe(real.resolve("../../lib/modules").normalize(), key);
        key.append(words.options());
        for (String entry : classPath.split(":", -1)) {
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

    /// To be called before the job: makes an archive for its start alone if there is none yet and it
    /// is worth the while.
    ///
    /// @param ranks how many start on this machine
    /// @param givenUp when complete, this ends early
    void warmUp(int ranks, CompletionStage<?> givenUp) {
        if (exists
                || ranks < MIN_RANKS_PER_PROCESSOR * Runtime.getRuntime().availableProcessors()) {
            return;
        }
        HelperJvm helperJvm = new HelperJvm(java, jobVariable, givenUp);
        List<String> words = new ArrayList<>();
        words.add("-XX:DumpLoadedClassList=" + classList);
        words.addAll(JavaCommand.OPTIONS);
        words.addAll(List.of("-cp", System.getProperty("java.class.path"), WARM_UP_CLASS));
        try {
            warmedUp = helperJvm.run(words) && dump(helperJvm);
        } catch (IOException e) {
            log("No rehearsal", e);
        }
    }

    /// The command of a rank: with an archive if there is one, and such that rank 0 lists its classes
    /// if there is none to keep.
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

    /// To be called when the job has ended: makes an archive of what rank 0 has listed, if all went
    /// well.
    ///
    /// @param givenUp when complete, this ends early
    void finish(boolean wentWell, CompletionStage<?> givenUp) {
        try {
            if (exists) {
                Files.setLastModifiedTime(file, FileTime.from(Instant.now()));
            } else if (wentWell
                    && Files.exists(classList)
                    && dump(new HelperJvm(java, jobVariable, givenUp))) {
                Files.move(tempFile, file, StandardCopyOption.ATOMIC_MOVE);
                deleteOldArchives();
            }
            Files.deleteIfExists(classList);
            Files.deleteIfExists(tempFile);
        } catch (IOException e) {
            log("An archive of classes is lost", e);
        }
    }

    /// Whether a JVM of the same options, which runs no program, has made an archive of the list.
    private boolean dump(HelperJvm helperJvm) throws IOException {
        List<String> words = new ArrayList<>();
        words.add("-Xshare:dump");
        words.add("-XX:SharedClassListFile=" + classList);
        words.add("-XX:SharedArchiveFile=" + tempFile);
        words.addAll(options);
        return helperJvm.run(words);
    }

    /// Removes the archives that were used least recently, and what killed jobs have left.
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

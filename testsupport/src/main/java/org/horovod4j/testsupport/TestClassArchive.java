package org.horovod4j.testsupport;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;

/// A class-data archive for the many short JVMs of a test class. A JVM that starts from it needs
/// about half of the CPU time to start.
///
/// It is a static archive, which has the classes of the JDK too. A dynamic one extends the archive of
/// the JDK, which does not fit our modules, and saves less.
///
/// A JVM accepts an archive only for a class path of jars, so folders are packed into jars first. All
/// files are deleted when this JVM exits.
public final class TestClassArchive {
    private final String classPath;
    private final Path file;

    private TestClassArchive(String classPath, Path file) {
        this.classPath = classPath;
        this.file = file;
    }

    /// Runs a program, and archives the classes that it loads.
    ///
    /// @param training has the flags of the JVMs that will use the archive
    public static TestClassArchive of(TestJvm training) {
        try {
            Path folder = Files.createTempDirectory("hvdtest-classes");
            Runtime.getRuntime().addShutdownHook(new Thread(() -> delete(folder)));
            String classPath = packFolders(training.classPath(), folder);
            Path list = folder.resolve("classes.txt");
            Path file = folder.resolve("classes.jsa");
            TestJvm jvm = training.onClassPath(classPath);
            Processes.output(jvm.with("-XX:DumpLoadedClassList=" + list).words());
            Processes.output(
                    jvm.with("-Xshare:dump", "-XX:SharedClassListFile=" + list)
                            .with("-XX:SharedArchiveFile=" + file)
                            .words());
            return new TestClassArchive(classPath, file);
        } catch (IOException e) {
            throw new UncheckedIOException("archiving classes", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while archiving classes", e);
        }
    }

    /// The same command, from this archive.
    public TestJvm apply(TestJvm jvm) {
        return jvm.onClassPath(classPath).with(options().toArray(String[]::new));
    }

    /// The class path that the archive was made for.
    public String classPath() {
        return classPath;
    }

    /// The options of a JVM with [#classPath] that starts from this archive.
    public List<String> options() {
        // A JVM with other options reports that the archive does not fit, and runs without it.
        return List.of("-XX:SharedArchiveFile=" + file, "-Xlog:cds=off");
    }

    private static String packFolders(String classPath, Path target) {
        List<String> entries = new ArrayList<>();
        for (String entry : classPath.split(File.pathSeparator, -1)) {
            entries.add(
                    Files.isDirectory(Path.of(entry))
                            ? pack(entry, target.resolve(entries.size() + ".jar"))
                            : entry);
        }
        return String.join(File.pathSeparator, entries);
    }

    private static String pack(String folder, Path jar) {
        ToolProvider tool = ToolProvider.findFirst("jar").orElseThrow();
        int code =
                tool.run(
                        System.out,
                        System.err,
                        "--create",
                        "--no-compress",
                        "--file=" + jar,
                        "-C",
                        folder,
                        ".");
        if (code != 0) {
            throw new IllegalStateException("packing " + folder + ": exit code " + code);
        }
        return jar.toString();
    }

    private static void delete(Path folder) {
        try (Stream<Path> files = Files.list(folder)) {
            for (Path each : files.toList()) {
                Files.delete(each);
            }
            Files.delete(folder);
        } catch (IOException e) {
            System.err.println("cannot delete " + folder + ": " + e);
        }
    }
}

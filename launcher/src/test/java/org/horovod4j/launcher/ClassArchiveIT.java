package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.horovod4j.Shape;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;

/// Class archives, written and used by real JVMs.
class ClassArchiveIT {
    @TempDir private Path folder;
    private Path archives;
    private Path jar;

    @BeforeEach
    void packProgram() throws Exception {
        archives = folder.resolve("archives");
        jar = folder.resolve("program.jar");
        pack(jar);
    }

    @Test
    void firstJobCreatesArchiveAndNextJobUsesIt() throws Exception {
        run("java", "-cp", jar.toString(), ManyLinesProgram.class.getName(), "1");
        assertThat(archives()).singleElement().asString().endsWith(".jsa");
        String loaded =
                run(
                        "java",
                        "-Xlog:class+load",
                        "-cp",
                        jar.toString(),
                        ManyLinesProgram.class.getName(),
                        "1");
        // The log option makes this another program, with its own archive.
        assertThat(loaded).doesNotContain("ManyLinesProgram source: shared objects file");
        assertThat(archives()).hasSize(2);
        loaded =
                run(
                        "java",
                        "-Xlog:class+load",
                        "-cp",
                        jar.toString(),
                        ManyLinesProgram.class.getName(),
                        "1");
        assertThat(loaded)
                .contains("[0]<stdout>:", "[1]<stdout>:")
                .containsPattern("(?m)^\\[1].*ManyLinesProgram source: shared objects file");
        assertThat(archives()).hasSize(2);
    }

    @Test
    void changedProgramDoesNotUseOldArchive() throws Exception {
        run("java", "-cp", jar.toString(), ManyLinesProgram.class.getName(), "1");
        Files.setLastModifiedTime(jar, FileTime.fromMillis(0));
        run("java", "-cp", jar.toString(), ManyLinesProgram.class.getName(), "1");
        assertThat(archives()).hasSize(2);
    }

    @Test
    void corruptArchiveDoesNotAffectJob() throws Exception {
        String[] program = {
            "java",
            TestJvm.NO_PERFORMANCE_DATA,
            "-cp",
            jar.toString(),
            ManyLinesProgram.class.getName(),
            "1"
        };
        run(program);
        Files.writeString(archives().getFirst(), "spoilt");
        assertThat(run(program).lines())
                .hasSize(2)
                .allMatch(line -> line.endsWith(ManyLinesProgram.line(0)));
    }

    /// The JVM would run whatever code another user puts into an archive.
    @Test
    void folderThatOthersMayWriteIsNotUsed() throws Exception {
        Files.createDirectory(archives);
        Files.setPosixFilePermissions(archives, PosixFilePermissions.fromString("rwxrwxr-x"));
        assertRunsWithoutArchive(archives + " is rwxrwxr-x, so another user could put code there");
    }

    @Test
    void folderOfAnotherUserIsNotUsed() throws Exception {
        assumeTrue(
                Files.getAttribute(folder, "unix:uid").equals(0), "only root can give files away");
        Files.createDirectory(archives);
        Files.setOwner(
                archives,
                folder.getFileSystem()
                        .getUserPrincipalLookupService()
                        .lookupPrincipalByName("nobody"));
        assertRunsWithoutArchive(archives + " belongs to nobody, not to");
    }

    private void assertRunsWithoutArchive(String reason) throws Exception {
        try (LauncherProcess launcher =
                launcher("java", "-cp", jar.toString(), ManyLinesProgram.class.getName(), "1")) {
            assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
            assertThat(launcher.stderr()).contains("No class archives: " + reason);
        }
        assertThat(archives()).isEmpty();
    }

    @Test
    void failedJobLeavesNoArchive() throws Exception {
        try (LauncherProcess launcher =
                launcher("java", "-cp", jar.toString(), ManyLinesProgram.class.getName(), "many")) {
            assertThat(launcher.exitCode()).isOne();
        }
        assertThat(archives()).isEmpty();
    }

    @Test
    void classesOutsideJarsAreNotArchived() throws Exception {
        Path classes = Files.createDirectories(folder.resolve("classes"));
        run("java", "-cp", jar + ":" + classes, ManyLinesProgram.class.getName(), "1");
        assertThat(archives).doesNotExist();
    }

    @Test
    void noArchiveWhenDisabled() throws Exception {
        try (LauncherProcess launcher =
                LauncherProcess.start(
                        Map.of("XDG_CACHE_HOME", folder.toString()),
                        "-np",
                        "1",
                        "--class-archives",
                        "none",
                        "java",
                        "-cp",
                        jar.toString(),
                        ManyLinesProgram.class.getName(),
                        "1")) {
            assertThat(launcher.exitCode()).isZero();
        }
        assertThat(folder.resolve("horovod4j")).doesNotExist();
    }

    /// On one processor sixteen ranks are enough for a training run.
    @Test
    void manyRanksUseArchiveInFirstJob() throws Exception {
        String[] words = {
            "-np",
            "16",
            "java",
            "-Xlog:class+load",
            "-cp",
            jar + ":" + coreJar(),
            ShapeProgram.class.getName()
        };
        for (String inArchive : List.of("org.horovod4j.Shape", ShapeProgram.class.getName())) {
            try (LauncherProcess launcher =
                    LauncherProcess.startWithin(
                            List.of("taskset", "-c", "0"),
                            Map.of("HOROVOD_CLASS_ARCHIVES", archives.toString()),
                            words)) {
                assertThat(launcher.exitCode(Duration.ofMinutes(3))).as(launcher.stderr()).isZero();
                assertThat(launcher.stdout().lines())
                        .filteredOn(
                                line ->
                                        line.contains(
                                                " %s source: shared objects file"
                                                        .formatted(inArchive)))
                        .hasSize(16);
            }
            assertThat(archives()).singleElement().asString().endsWith(".jsa");
        }
    }

    @Test
    void interruptStopsArchiveCreation() throws Exception {
        try (LauncherProcess launcher = launcherWithHangingArchiveCreation()) {
            long making = awaitArchiveCreation();
            launcher.signal("INT");
            assertThat(launcher.exitCode()).as("of a job that had ended well").isZero();
            assertThat(ProcessHandle.of(making)).isEmpty();
            assertThat(archives()).isEmpty();
        }
    }

    @Test
    void archiveCreationEndsWhenLauncherIsKilled() throws Exception {
        try (LauncherProcess launcher = launcherWithHangingArchiveCreation()) {
            long making = awaitArchiveCreation();
            launcher.signal("KILL");
            await().until(() -> ProcessHandle.of(making).isEmpty());
        }
    }

    /// With a JDK that never completes an archive.
    private LauncherProcess launcherWithHangingArchiveCreation() throws Exception {
        Path jdk = folder.resolve("jdk");
        Files.createDirectories(jdk.resolve("bin"));
        Files.createDirectories(jdk.resolve("lib"));
        Files.createFile(jdk.resolve("lib/modules"));
        Path java =
                Files.writeString(
                        jdk.resolve("bin/java"),
                        """
                        #!/bin/sh
                        case "$*" in
                            *-Xshare:dump*) echo $$ >%s; exec sleep 1000 ;;
                        esac
                        exec %s/bin/java "$@"
                        """
                                .formatted(
                                        archiveCreationPidFile(), System.getProperty("java.home")));
        Files.setPosixFilePermissions(java, PosixFilePermissions.fromString("rwx------"));
        return launcher(
                java.toString(), "-cp", jar.toString(), ManyLinesProgram.class.getName(), "1");
    }

    private Path archiveCreationPidFile() {
        return folder.resolve("making");
    }

    /// The number of that process, once it runs.
    private long awaitArchiveCreation() {
        String number =
                await().atMost(Duration.ofSeconds(60))
                        .ignoreExceptions()
                        .until(
                                () -> Files.readString(archiveCreationPidFile()),
                                text -> text.endsWith("\n"));
        return Long.parseLong(number.strip());
    }

    /// Needs a class of Horovod4J.
    static final class ShapeProgram {
        private ShapeProgram() {}

        public static void main(String[] arguments) {
            System.out.println(Shape.of(1));
        }
    }

    private String run(String... command) throws Exception {
        try (LauncherProcess launcher = launcher(command)) {
            assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
            assertThat(launcher.stderr()).isEmpty();
            return launcher.stdout();
        }
    }

    private LauncherProcess launcher(String... command) throws Exception {
        String[] words =
                Stream.concat(Stream.of("-np", "2"), Stream.of(command)).toArray(String[]::new);
        return LauncherProcess.start(Map.of("HOROVOD_CLASS_ARCHIVES", archives.toString()), words);
    }

    private List<Path> archives() throws Exception {
        if (!Files.exists(archives)) {
            return List.of();
        }
        try (Stream<Path> files = Files.list(archives)) {
            return files.toList();
        }
    }

    private static void pack(Path jar) throws Exception {
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar))) {
            for (Class<?> each : List.of(ManyLinesProgram.class, ShapeProgram.class)) {
                String name = each.getName().replace('.', '/') + ".class";
                out.putNextEntry(new JarEntry(name));
                try (InputStream bytes =
                        Objects.requireNonNull(ClassLoader.getSystemResourceAsStream(name))) {
                    bytes.transferTo(out);
                }
            }
        }
    }

    private static Path coreJar() throws Exception {
        return Path.of(Shape.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    }
}

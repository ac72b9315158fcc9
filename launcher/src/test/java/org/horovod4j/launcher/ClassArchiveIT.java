package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;

/// Archives of the classes of a program, made and used by real JVMs.
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
    void theFirstJobMakesAnArchiveAndTheNextUsesIt() throws Exception {
        run("java", "-cp", jar.toString(), Chatter.class.getName(), "1");
        assertThat(archives()).singleElement().asString().endsWith(".jsa");
        String loaded =
                run(
                        "java",
                        "-Xlog:class+load",
                        "-cp",
                        jar.toString(),
                        Chatter.class.getName(),
                        "1");
        // The log is an option of the JVM, so this is another program: it makes its own archive.
        assertThat(loaded).doesNotContain("Chatter source: shared objects file");
        assertThat(archives()).hasSize(2);
        loaded =
                run(
                        "java",
                        "-Xlog:class+load",
                        "-cp",
                        jar.toString(),
                        Chatter.class.getName(),
                        "1");
        assertThat(loaded)
                .contains("[0]<stdout>:", "[1]<stdout>:")
                .containsPattern("(?m)^\\[1].*Chatter source: shared objects file");
        assertThat(archives()).hasSize(2);
    }

    @Test
    void aProgramThatChangedDoesNotUseTheOldOne() throws Exception {
        run("java", "-cp", jar.toString(), Chatter.class.getName(), "1");
        Files.setLastModifiedTime(jar, FileTime.fromMillis(0));
        run("java", "-cp", jar.toString(), Chatter.class.getName(), "1");
        assertThat(archives()).hasSize(2);
    }

    @Test
    void aSpoiltArchiveDoesNotDisturbAJob() throws Exception {
        run("java", "-cp", jar.toString(), Chatter.class.getName(), "1");
        Files.writeString(archives().getFirst(), "spoilt");
        String output = run("java", "-cp", jar.toString(), Chatter.class.getName(), "1");
        assertThat(output.lines()).hasSize(2).allMatch(line -> line.endsWith(Chatter.line(0)));
    }

    @Test
    void aJobThatFailedLeavesNone() throws Exception {
        try (LauncherProcess launcher =
                launcher("java", "-cp", jar.toString(), Chatter.class.getName(), "many")) {
            assertThat(launcher.exitCode()).isOne();
        }
        assertThat(archives()).isEmpty();
    }

    @Test
    void classesOutsideJarsAreLeftAlone() throws Exception {
        Path classes = Files.createDirectories(folder.resolve("classes"));
        run("java", "-cp", jar + ":" + classes, Chatter.class.getName(), "1");
        assertThat(archives).doesNotExist();
    }

    @Test
    void noneAreMadeWhereNoneAreWanted() throws Exception {
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
                        Chatter.class.getName(),
                        "1")) {
            assertThat(launcher.exitCode()).isZero();
        }
        assertThat(folder.resolve("horovod4j")).doesNotExist();
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
        String name = Chatter.class.getName().replace('.', '/') + ".class";
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar));
                InputStream bytes =
                        Objects.requireNonNull(ClassLoader.getSystemResourceAsStream(name))) {
            out.putNextEntry(new JarEntry(name));
            bytes.transferTo(out);
        }
    }
}

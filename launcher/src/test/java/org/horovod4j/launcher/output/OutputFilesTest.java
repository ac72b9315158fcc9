package org.horovod4j.launcher.output;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.output.LauncherConsole.StandardStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;

import java.io.ByteArrayOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Consumer;

class OutputFilesTest {
    @TempDir private Path folder;

    private final ByteArrayOutputStream screen = new ByteArrayOutputStream();
    private final LauncherConsole launcherConsole = new LauncherConsole(screen, screen);

    @Test
    void everyStreamOfEveryRankHasAFile() throws Exception {
        Path deep = folder.resolve("logs", "today");
        OutputTargets outputTargets = OutputTargets.ofRanks(launcherConsole, deep, false, 11);
        print(outputTargets, 3, StandardStream.STDOUT, "one\ntwo");
        print(outputTargets, 3, StandardStream.STDERR, "oops\r\n");
        assertThat(deep.resolve("rank.03", "stdout")).hasContent("one\ntwo\n");
        assertThat(Files.readString(deep.resolve("rank.03", "stderr"))).isEqualTo("oops\r\n");
        assertThat(deep.resolve("rank.10", "stdout")).isEmptyFile();
        assertThat(screen.toString(UTF_8))
                .isEqualTo("[3]<stdout>:one\n[3]<stdout>:two\n[3]<stderr>:oops\r\n");
    }

    @Test
    void linesAreInTheFileAsSoonAsOnTheConsole() {
        LinePrefixer lines =
                lines(
                        OutputTargets.ofRanks(launcherConsole, folder, false, 1),
                        0,
                        StandardStream.STDOUT);
        feed(lines, "one\ntw");
        assertThat(folder.resolve("rank.0", "stdout")).hasContent("one\n");
    }

    @Test
    void splitWindowsLineEndStaysOneLineEnd() throws Exception {
        LinePrefixer lines =
                lines(
                        OutputTargets.ofRanks(launcherConsole, folder, false, 1),
                        0,
                        StandardStream.STDOUT);
        feed(lines, "a\r");
        feed(lines, "\nb\n");
        lines.onEnd();
        assertThat(Files.readString(folder.resolve("rank.0", "stdout"))).isEqualTo("a\r\nb\n");
    }

    @Test
    void fileOfEarlierJobIsReplaced() throws Exception {
        Path old = Files.createDirectories(folder.resolve("rank.0")).resolve("stdout");
        Files.writeString(old, "the output of yesterday\n");
        print(
                OutputTargets.ofRanks(launcherConsole, folder, false, 1),
                0,
                StandardStream.STDOUT,
                "new\n");
        assertThat(old).hasContent("new\n");
    }

    @Test
    void reopenedWorkerFilesAreAppended() throws Exception {
        Path old = Files.createDirectories(folder.resolve("worker.4")).resolve("stdout");
        Files.writeString(old, "the output of yesterday\n");
        try (OutputTargets outputTargets =
                OutputTargets.ofWorkers(launcherConsole, folder, false)) {
            print(outputTargets, 4, StandardStream.STDOUT, "one\n");
            Consumer<byte[]> closed = outputTargets.file(4, StandardStream.STDOUT);
            outputTargets.close(4);
            closed.accept("too late\n".getBytes(UTF_8));
            print(outputTargets, 4, StandardStream.STDOUT, "two\n");
        }
        assertThat(old).hasContent("one\ntwo\n");
    }

    @Test
    void folderThatCannotBeCreatedIsRejected() throws Exception {
        Path file = Files.createFile(folder.resolve("file"));
        assertThatExceptionOfType(ConfigurationException.class)
                .isThrownBy(
                        () ->
                                OutputTargets.ofRanks(
                                        launcherConsole, file.resolve("logs"), false, 2))
                .withMessageStartingWith("--output-filename: cannot make the files of " + file)
                .withMessageEndingWith("Name a folder that can be made.");
    }

    /// Writes to this device fail like on a full disk.
    @Test
    @EnabledIf("hasFullDevice")
    void fullDiskIsReportedOnce() throws Exception {
        for (String rank : new String[] {"rank.0", "rank.1"}) {
            Path file = Files.createDirectories(folder.resolve(rank)).resolve("stdout");
            Files.createSymbolicLink(file, Path.of("/dev/full"));
        }
        OutputTargets outputTargets = OutputTargets.ofRanks(launcherConsole, folder, false, 2);
        LinePrefixer first = lines(outputTargets, 0, StandardStream.STDOUT);
        feed(first, "a\n");
        feed(first, "b\n");
        print(outputTargets, 1, StandardStream.STDOUT, "c\n");
        assertThat(screen.toString(UTF_8))
                .containsOnlyOnce("cannot write to")
                .contains(folder.resolve("rank.0", "stdout") + " (No space left on device)")
                .contains("[0]<stdout>:a\n", "[0]<stdout>:b\n", "[1]<stdout>:c\n");
    }

    static boolean hasFullDevice() {
        return Files.exists(Path.of("/dev/full"));
    }

    @Test
    void timestampsPrecedeEachLine() throws Exception {
        print(
                OutputTargets.ofRanks(launcherConsole, folder, true, 1),
                0,
                StandardStream.STDOUT,
                "one\ntwo\n");
        String time = "\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}[+-]\\d\\d:\\d\\d ";
        assertThat(screen.toString(UTF_8))
                .matches(time + "\\[0]<stdout>:one\n" + time + "\\[0]<stdout>:two\n");
        assertThat(Files.readString(folder.resolve("rank.0", "stdout")))
                .matches(time + "one\n" + time + "two\n");
    }

    @Test
    void timestampIsTakenAtLineEnd() {
        int[] lines = {0};
        OutputTargets outputTargets =
                new OutputTargets(launcherConsole, null, () -> ++lines[0] + " ", true);
        LinePrefixer prefixer = lines(outputTargets, 0, StandardStream.STDERR);
        feed(prefixer, "10 %\r20 ");
        feed(prefixer, "%\rdone");
        prefixer.onEnd();
        assertThat(screen.toString(UTF_8))
                .isEqualTo("1 [0]<stderr>:10 %\r2 [0]<stderr>:20 %\r3 [0]<stderr>:done\n");
    }

    private static void print(
            OutputTargets outputTargets, int rank, StandardStream standardStream, String text) {
        LinePrefixer lines = lines(outputTargets, rank, standardStream);
        feed(lines, text);
        lines.onEnd();
    }

    private static LinePrefixer lines(
            OutputTargets outputTargets, int rank, StandardStream standardStream) {
        return new LinePrefixer(outputTargets.source(rank), standardStream, _ -> true);
    }

    private static void feed(LinePrefixer lines, String text) {
        byte[] bytes = text.getBytes(UTF_8);
        lines.onBytes(bytes, bytes.length);
    }
}

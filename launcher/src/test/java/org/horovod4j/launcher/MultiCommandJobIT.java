package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/// A job file that runs several commands, one after the other.
class MultiCommandJobIT {
    @TempDir Path folder;

    private LauncherProcess start(String job) throws IOException {
        return LauncherProcess.start(
                "--job", Files.writeString(folder.resolve("job.yml"), job).toString());
    }

    /// Each rank creates a file at the end of its first command, and counts the files in its
    /// second. Rank 0 ends its first command after the others.
    static String twoCommandsOnThreeWorkers(Path folder) {
        return """
        workers: 3
        environment:
          DIR: %s
        run: |
          if [ $HOROVOD_RANK = 0 ]; then until [ -e $DIR/1.done -a -e $DIR/2.done ]; do :; done; fi; \\
            touch $DIR/$HOROVOD_RANK.done
          ls $DIR/*.done | wc -l
        """
                .formatted(folder);
    }

    @Test
    void allRanksFinishCommandBeforeNextStarts() throws Exception {
        try (LauncherProcess launcher = start(twoCommandsOnThreeWorkers(folder))) {
            assertThat(launcher.exitCode()).isZero();
            assertThat(launcher.stdout().lines())
                    .containsExactlyInAnyOrder("[0]<stdout>:3", "[1]<stdout>:3", "[2]<stdout>:3");
        }
    }

    @Test
    void eachCommandHasItsOwnRendezvous() throws Exception {
        String line =
                "- %s -XX:TieredStopAtLevel=1 --add-modules jdk.incubator.vector --enable-native-access=ALL-UNNAMED -cp %s %s\n"
                        .formatted(TestJvm.JAVA, TestJvm.CLASS_PATH, SumOfRanks.class.getName());
        try (LauncherProcess launcher = start("workers: 2\nrun:\n" + line + line)) {
            assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
            assertThat(launcher.stdout().lines().filter(each -> each.endsWith("sum=1"))).hasSize(4);
        }
    }

    @Test
    void outputFilesContainAllCommands() throws Exception {
        Path job =
                Files.writeString(
                        folder.resolve("job.yml"), "workers: 1\nrun:\n- echo one\n- echo two\n");
        Path output = folder.resolve("output");
        try (LauncherProcess launcher =
                LauncherProcess.start(
                        "--job", job.toString(), "--output-filename", output.toString())) {
            assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
            assertThat(output.resolve("rank.0/stdout")).hasContent("one\ntwo\n");
        }
    }

    @Test
    void failedCommandIsTheLast() throws Exception {
        try (LauncherProcess launcher =
                start("workers: 2\nrun:\n- echo first\n- exit $HOROVOD_RANK\n- echo third\n")) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stdout().lines())
                    .containsExactlyInAnyOrder("[0]<stdout>:first", "[1]<stdout>:first");
            assertThat(launcher.stderr()).contains("First to fail was rank 1", "exit code 1");
        }
    }
}

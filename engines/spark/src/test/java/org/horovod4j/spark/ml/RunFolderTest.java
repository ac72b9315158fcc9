package org.horovod4j.spark.ml;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;

class RunFolderTest {
    private static final TrainingHistory HISTORY =
            TrainingHistory.EMPTY.with(Map.of("loss", 0.5)).with(Map.of("loss", 0.25));

    @TempDir Path folder;
    private RunFolder run;

    @BeforeEach
    void open() throws IOException {
        run = new RunFolder(folder.toUri().toString());
    }

    private static NetworkFiles network(String text) {
        TreeMap<String, byte[]> files = new TreeMap<>();
        files.put("network", text.getBytes(StandardCharsets.UTF_8));
        return new NetworkFiles(files);
    }

    /// As after the end of a process between delete and rename.
    private static void undoRename(Path file) throws IOException {
        Path partial = file.resolveSibling("." + file.getFileName() + ".partial");
        Files.move(file, partial);
        Files.delete(file.resolveSibling("." + file.getFileName() + ".crc"));
    }

    @Test
    void historyOfAWriteThatWasNotRenamedIsUsed() throws Exception {
        assertThat(run.history()).isEqualTo(TrainingHistory.EMPTY);
        run.writeHistory(HISTORY);
        undoRename(folder.resolve("history"));

        assertThat(run.history()).isEqualTo(HISTORY);
        run.writeHistory(HISTORY.first(1));
        assertThat(run.history()).isEqualTo(HISTORY.first(1));
    }

    @Test
    void firstHistoryThatIsNotCompleteIsNotUsed() throws Exception {
        Files.writeString(folder.resolve(".history.partial"), "loss=0.5,val_loss=");

        assertThat(run.history()).isEqualTo(TrainingHistory.EMPTY);
    }

    @Test
    void bestNetworkOfAWriteThatWasNotRenamedIsUsed() throws Exception {
        run.writeBest(network("first"));
        undoRename(folder.resolve("best/network"));

        assertThat(run.best().byName().get("network")).asString().isEqualTo("first");
        run.writeBest(network("second"));
        assertThat(run.best().byName()).containsOnlyKeys("network");
        assertThat(run.best().byName().get("network")).asString().isEqualTo("second");
    }
}

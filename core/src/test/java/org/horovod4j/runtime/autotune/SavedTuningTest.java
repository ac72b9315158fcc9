package org.horovod4j.runtime.autotune;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.horovod4j.spi.Tuning;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;

class SavedTuningTest {
    private static final SavedTuning SAVED =
            new SavedTuning(
                    SearchSpace.of(8, 2, Set.of(Knob.ROUND_BYTES)),
                    new Tuning(1 << 20, Duration.ofNanos(1_600_000), 65_536, 0, 8),
                    1234.5678);

    @TempDir private Path folder;

    @Test
    void writtenResultRoundTrips() throws IOException {
        Path file = folder.resolve("tuning");
        SAVED.write(file);
        assertThat(SavedTuning.read(file)).contains(SAVED);
        assertThat(folder)
                .isDirectoryContaining(file::equals)
                .isDirectoryNotContaining("glob:**.tmp");
    }

    @Test
    void fileIsHumanReadable() throws IOException {
        Path file = folder.resolve("tuning");
        SAVED.write(file);
        assertThat(file)
                .hasContent(
                        """
                        # Found by the autotuner of Horovod4J. The next run with as many ranks and hosts uses it.
                        # Delete this file to search again.
                        format=1
                        ranks=8
                        hosts=2
                        searched=HOROVOD_FUSION_THRESHOLD HOROVOD_CYCLE_TIME HOROVOD_RING_BYTES HOROVOD_TCP_STREAMS
                        HOROVOD_FUSION_THRESHOLD=1048576
                        HOROVOD_CYCLE_TIME=1.6
                        HOROVOD_ROUND_BYTES=65536
                        HOROVOD_RING_BYTES=0
                        HOROVOD_TCP_STREAMS=8
                        score=1234.5678
                        """);
    }

    @Test
    void anOlderResultIsReplaced() throws IOException {
        Path file = folder.resolve("tuning");
        new SavedTuning(SAVED.searchSpace(), Tuning.DEFAULT, 1).write(file);
        SAVED.write(file);
        assertThat(SavedTuning.read(file)).contains(SAVED);
    }

    @Test
    void noFileIsNoResult() {
        assertThat(SavedTuning.read(folder.resolve("none"))).isEmpty();
    }

    @ParameterizedTest(name = "{0} becomes {1}")
    @CsvSource({
        "format=1, format=2, format 2",
        "format=1, '', no line for format",
        "ranks=8, ranks=eight, ranks is 'eight'",
        "HOROVOD_CYCLE_TIME=1.6, HOROVOD_CYCLE_TIME=1.23456789, HOROVOD_CYCLE_TIME is '1.23456789'",
        "HOROVOD_ROUND_BYTES=65536, HOROVOD_ROUND_BYTES=1, a round has",
        "HOROVOD_TCP_STREAMS=8, HOROVOD_TCP_STREAMS=99999999999, HOROVOD_TCP_STREAMS is '99999999999'",
        "searched=HOROVOD_FUSION_THRESHOLD, searched=HOROVOD_X, searched is",
        "score=1234.5678, '', no line for score",
        "ranks=8, ranks=\\u00zz, encoding"
    })
    void aDamagedFileIsRefusedWithTheRemedy(String line, String damage, String found)
            throws IOException {
        Path file = folder.resolve("tuning");
        SAVED.write(file);
        Files.writeString(file, Files.readString(file).replace(line, damage));
        assertDamaged(file, found);
    }

    @Test
    void bytesThatAreNoTextAreRefusedToo() throws IOException {
        Path file = folder.resolve("tuning");
        Files.write(file, new byte[] {(byte) 0xff, (byte) 0xfe, 0, 1, 2});
        assertDamaged(file, "MalformedInput");
    }

    private static void assertDamaged(Path file, String found) {
        assertThatThrownBy(() -> SavedTuning.read(file))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("damaged")
                .hasMessageContaining(file.toString())
                .hasMessageContaining("HOROVOD_AUTOTUNE_FILE")
                .hasMessageContaining(found)
                .hasMessageContaining("Delete the file");
    }

    @Test
    void aFolderIsNoFile() {
        assertThatThrownBy(() -> SavedTuning.read(folder))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("cannot be read");
        assertThatThrownBy(() -> SavedTuning.checkWritable(folder))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("it is a folder");
    }
}

package org.horovod4j.launcher.command;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

class FlagPrerequisiteTest {
    private final List<String> notices = new ArrayList<>();

    private List<String> notices(Map<String, String> environment, String flags) {
        new CommandLineReader(environment, notices::add)
                .read(("-np 2 " + flags + " train").split(" "));
        return notices;
    }

    private static Stream<String> flags() {
        return Arrays.stream(FlagPrerequisite.values()).flatMap(each -> each.flags().stream());
    }

    @Test
    void everyFlagExists() {
        assertThat(flags()).doesNotHaveDuplicates();
        assertThat(CommandLineSpec.forParsing().getCommandSpec().optionsMap().keySet())
                .containsAll(flags().toList());
    }

    /// A new flag must be added too.
    @ParameterizedTest
    @ValueSource(strings = {"autotune-", "timeline-", "stall-check-", "elastic-"})
    void everyFlagOfGroupIsListed(String family) {
        assertThat(
                        OptionFlag.all()
                                .map(OptionFlag::longName)
                                .filter(it -> it.startsWith("--" + family)))
                .isNotEmpty()
                .allMatch(
                        word ->
                                word.equals("--timeline-filename")
                                        || flags().anyMatch(word::equals));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--autotune-log-file a.csv  | --autotune",
                "--autotune-file a.txt --no-autotune | --autotune",
                "--timeline-mark-cycles     | --timeline-filename",
                "--timeline-max-bytes 1M    | --timeline-filename, unless the program starts a timeline itself",
                "--elastic-timeout 30       | --min-np or --host-discovery-script",
                "--slots-per-host 2 --min-np 1 | --host-discovery-script",
                "--stall-check-warning-time-seconds 9 --no-stall-check | --stall-check",
                "--binding-args=x           | --mpi",
            })
    void flagWithoutPrerequisiteIsReported(String flags, String missing) {
        String first = flags.split("[ =]", 2)[0];
        assertThat(notices(Map.of(), flags))
                .containsExactly("%s has no effect without %s.".formatted(first, missing));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--autotune --autotune-log-file a.csv --autotune-warmup-samples 1",
                "--timeline-filename t.json --timeline-mark-cycles --timeline-all-ranks",
                "--timeline-filename DYNAMIC --timeline-max-bytes 1M",
                "--min-np 1 --elastic-timeout 30 --reset-limit 3",
                "--host-discovery-script ./h.sh --slots-per-host 2",
                "--stall-check-warning-time-seconds 9",
                "--no-timeline-mark-cycles --no-timeline-all-ranks",
                "--mpi --tcp",
            })
    void flagWithPrerequisiteIsNotReported(String flags) {
        assertThat(notices(Map.of(), flags)).isEmpty();
    }

    @Test
    void prerequisiteMayComeFromEnvironment() {
        Map<String, String> environment =
                Map.of("HOROVOD_AUTOTUNE", "1", "HOROVOD_TIMELINE", "t.json");
        assertThat(notices(environment, "--autotune-file a.txt --timeline-mark-cycles")).isEmpty();
        assertThat(notices(Map.of("HOROVOD_AUTOTUNE", "0"), "--autotune-file a.txt")).hasSize(1);
    }

    @Test
    void prerequisiteMayComeFromFile(@TempDir Path folder) throws IOException {
        Path config =
                Files.writeString(
                        folder.resolve("config.yml"),
                        "{autotune: {enabled: true}, timeline: {filename: t.json}}");
        assertThat(
                        notices(
                                Map.of("HOROVOD_AUTOTUNE", "0"),
                                "--autotune-file a.txt --timeline-all-ranks --config-file "
                                        + config))
                .isEmpty();
        Path job =
                Files.writeString(
                        folder.resolve("job.yml"),
                        "{workers: 2, elastic: {min: 1}, run: train, environment: {HOROVOD_AUTOTUNE: 1}}");
        assertThat(notices(Map.of(), "--reset-limit 3 --autotune-file a.txt --job " + job))
                .isEmpty();
    }
}

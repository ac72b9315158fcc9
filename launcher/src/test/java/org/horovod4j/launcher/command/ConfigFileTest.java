package org.horovod4j.launcher.command;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.command.Invocation.Controller;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

class ConfigFileTest {
    private final List<String> notices = new ArrayList<>();
    @TempDir Path folder;

    private Invocation.Launch read(String text, String... flags) throws IOException {
        Path file = Files.writeString(folder.resolve("config.yml"), text);
        List<String> words = new ArrayList<>(List.of("-np", "2", "--config-file", file.toString()));
        words.addAll(List.of(flags));
        words.add("train");
        return (Invocation.Launch)
                new CommandLineReader(Map.of(), notices::add).read(words.toArray(String[]::new));
    }

    /// Missing permission is tested in `ConfigurationFilesIT`, because root may read everything.
    @Test
    void unreadableFileIsReportedInOneLine() throws Exception {
        assertThat(refused(folder.resolve("none.yml")))
                .contains("none.yml' cannot be read: there is no such file (current folder ");
        assertThat(refused(folder))
                .isEqualTo("'%s' cannot be read: it is a folder. Name a file.", folder);
        Path latin = Files.write(folder.resolve("latin.yml"), new byte[] {'a', ':', ' ', -28});
        assertThat(refused(latin))
                .isEqualTo("'%s' cannot be read: it is not in UTF-8. Save it in UTF-8.", latin);
        assertThat(refused(latin.resolve("inside.yml")))
                .contains("inside.yml' cannot be read: ", "Not a directory. Check its path");
    }

    private static String refused(Path file) {
        ConfigurationException thrown =
                catchThrowableOfType(ConfigurationException.class, () -> ConfigFile.read(file));
        assertThat(thrown).message().doesNotContain("\n", "Exception");
        return String.valueOf(thrown.getMessage());
    }

    @Test
    void everyKeySetsTheVariableOfItsFlag() throws Exception {
        assertThat(
                        read("""
                                        controller: mpi
                                        params:
                                          fusion_threshold_mb: 32
                                          cycle_time_ms: 10
                                          cache_capacity: 2048
                                          hierarchical_allreduce: false
                                        autotune:
                                          enabled: true
                                          log_file: "autotune.txt"
                                          warmup_samples: 1
                                          steps_per_sample: 5
                                          bayes_opt_max_samples: 10
                                          gaussian_process_noise: 0.2
                                        timeline:
                                          filename: timeline.json
                                          mark_cycles: true
                                        stall_check:
                                          enabled: false
                                          warning_time_seconds: 120
                                          shutdown_time_seconds: 240
                                        logging:
                                          level: INFO
                                          with_timestamp: false
                                        """)
                                .options())
                .containsExactlyInAnyOrderEntriesOf(
                        Map.ofEntries(
                                Map.entry("HOROVOD_FUSION_THRESHOLD", "33554432"),
                                Map.entry("HOROVOD_CYCLE_TIME", "10"),
                                Map.entry("HOROVOD_CACHE_CAPACITY", "2048"),
                                Map.entry("HOROVOD_HIERARCHICAL_ALLREDUCE", "0"),
                                Map.entry("HOROVOD_AUTOTUNE", "1"),
                                Map.entry("HOROVOD_AUTOTUNE_LOG", "autotune.txt"),
                                Map.entry("HOROVOD_AUTOTUNE_WARMUP_SAMPLES", "1"),
                                Map.entry("HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE", "5"),
                                Map.entry("HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES", "10"),
                                Map.entry("HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE", "0.2"),
                                Map.entry("HOROVOD_TIMELINE", "timeline.json"),
                                Map.entry("HOROVOD_TIMELINE_MARK_CYCLES", "1"),
                                Map.entry("HOROVOD_STALL_CHECK_DISABLE", "1"),
                                Map.entry("HOROVOD_STALL_CHECK_TIME_SECONDS", "120"),
                                Map.entry("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "240"),
                                Map.entry("HOROVOD_LOG_LEVEL", "info"),
                                Map.entry("HOROVOD_LOG_HIDE_TIME", "1")));
        assertThat(notices).isEmpty();
    }

    @Test
    void flagOverridesFile() throws Exception {
        assertThat(
                        read(
                                        "params:\n  fusion_threshold_mb: 32\nstall_check:\n  enabled: true\n",
                                        "--fusion-threshold-mb",
                                        "16",
                                        "--no-stall-check")
                                .options())
                .isEqualTo(
                        Map.of(
                                "HOROVOD_FUSION_THRESHOLD", "16777216",
                                "HOROVOD_STALL_CHECK_DISABLE", "1"));
    }

    @Test
    void unsetOptionsAreNotExported() throws Exception {
        assertThat(read("params:\n  cycle_time_ms:\nautotune:\n").options()).isEmpty();
        assertThat(read("").options()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"mpi,, MPI", "MPI,, MPI", "gloo,, OWN", "mpi, --gloo, OWN", "gloo, --mpi, MPI"})
    void controllerFlagOverridesFile(String named, String flag, String expected) throws Exception {
        Controller controller =
                read("controller: " + named, flag == null ? new String[0] : new String[] {flag})
                        .controller();
        assertThat(controller instanceof Controller.Mpi).isEqualTo(expected.equals("MPI"));
    }

    @Test
    void settingsWithoutEffectAreExplained() throws Exception {
        assertThat(read("library_options:\n  num_nccl_streams: 2\n").options()).isEmpty();
        assertThat(notices)
                .singleElement()
                .asString()
                .startsWith(folder.resolve("config.yml") + ":2: library_options.num_nccl_streams: ")
                .contains("no effect");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "'params:\n  fusion_threshold_mb: -1'  | :2: params.fusion_threshold_mb: --fusion-threshold-mb is '-1'",
                "'params:\n  fusion_treshold_mb: 1'    | :2: unknown key 'fusion_treshold_mb' in params. Did you mean fusion_threshold_mb?",
                "'parms:\n  cycle_time_ms: 1'          | :1: unknown key 'parms'. Did you mean params?",
                "'controller: ddl'                     | :1: controller: there is no controller 'ddl'",
                "'autotune:\n\n  enabled: maybe'       | :3: autotune.enabled: 'maybe' is not true or false",
                "'params: 3'                           | :1: params: needs keys with values",
                "'params:\n  cycle_time_ms: [1]'       | :2: params.cycle_time_ms: needs one value",
                "'params:\n  cycle_time_ms: 1\n  cycle_time_ms: 2' | :3: params.cycle_time_ms: is already in line 2",
                "'params:\n cycle_time_ms: 1\n\tcache: 2' | :3: not valid YAML",
                "'- a'                                 | :1: needs keys with values",
                "'params: &a {x: *a}'                  | aliases make it too large",
            })
    void errorNamesTheLine(String text, String message) {
        assertThatThrownBy(() -> read(text))
                .isInstanceOf(ConfigurationException.class)
                .message()
                .startsWith(folder.resolve("config.yml").toString())
                .contains(message);
    }

    /// Reading it took one frame of the stack for each level.
    @Test
    void deepNestingIsRefused() {
        for (String opening : new String[] {"[", "{a: ", "- "}) {
            String text = "params:\n  " + opening.repeat(20_000);
            assertThatThrownBy(() -> read(text))
                    .hasMessageContaining(":2: is nested more than 100 levels deep.");
        }
    }

    @Test
    void nestedAliasesAreLimited() {
        StringBuilder text = new StringBuilder("a0: &a0 [x]\n");
        for (int level = 1; level < 24; level++) {
            text.append("a%1$d: &a%1$d [*a%2$d, *a%2$d]\n".formatted(level, level - 1));
        }
        assertThatThrownBy(() -> read(text.toString()))
                .hasMessageContaining("aliases make it too large");
    }
}

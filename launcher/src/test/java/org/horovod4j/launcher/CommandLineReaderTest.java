package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.api.InstanceOfAssertFactories;
import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.plan.Host;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;
import java.util.Map;

class CommandLineReaderTest {
    private static Invocation read(String line) {
        return new CommandLineReader().read(line.isEmpty() ? new String[0] : line.split(" "));
    }

    private static Invocation launch(
            int processes,
            int slots,
            boolean verbose,
            Map<String, String> options,
            List<String> command) {
        return new Invocation.Launch(
                processes,
                List.of(new Host("localhost", slots)),
                new Controller.Own(),
                new RemoteSide(null, List.of()),
                new Reporting(verbose, null, false),
                options,
                List.of(command));
    }

    @Test
    void allIsUnderstood() {
        assertThat(read("-np 2 -H localhost:4 --verbose train --fast"))
                .isEqualTo(launch(2, 4, true, Map.of(), List.of("train", "--fast")));
    }

    @ParameterizedTest
    @ValueSource(strings = {"-np 3 train", "--num-proc 3 train", "--num-proc=3 -- train"})
    void byDefaultThisMachineTakesThemAll(String line) {
        assertThat(read(line)).isEqualTo(launch(3, 3, false, Map.of(), List.of("train")));
    }

    @Test
    void aFlagOfTheProcessesBecomesTheirVariable() {
        assertThat(read("-np 2 --transport tcp --start-timeout 5 train"))
                .isEqualTo(
                        launch(
                                2,
                                2,
                                false,
                                Map.of("HOROVOD_TRANSPORT", "tcp", "HOROVOD_START_TIMEOUT", "5"),
                                List.of("train")));
    }

    @ParameterizedTest
    @CsvSource({
        "--fusion-threshold-mb 32, HOROVOD_FUSION_THRESHOLD, 33554432",
        "--fusion-threshold-mb 0.5, HOROVOD_FUSION_THRESHOLD, 524288",
        "--fusion-threshold-mb 0, HOROVOD_FUSION_THRESHOLD, 0",
        "--cycle-time-ms 2.5, HOROVOD_CYCLE_TIME, 2.5",
        "--cache-capacity 512, HOROVOD_CACHE_CAPACITY, 512",
        "--autotune, HOROVOD_AUTOTUNE, 1",
        "--no-autotune, HOROVOD_AUTOTUNE, 0",
        "--autotune-log-file /tmp/log.csv, HOROVOD_AUTOTUNE_LOG, /tmp/log.csv",
        "--autotune-warmup-samples 1, HOROVOD_AUTOTUNE_WARMUP_SAMPLES, 1",
        "--autotune-steps-per-sample 5, HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE, 5",
        "--autotune-bayes-opt-max-samples 9, HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES, 9",
        "--autotune-gaussian-process-noise 0.2, HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE, 0.2",
        "--timeline-filename t.json, HOROVOD_TIMELINE, t.json",
        "--timeline-mark-cycles, HOROVOD_TIMELINE_MARK_CYCLES, 1",
        "--no-timeline-mark-cycles, HOROVOD_TIMELINE_MARK_CYCLES, 0",
        "--no-stall-check, HOROVOD_STALL_CHECK_DISABLE, 1",
        "--stall-check, HOROVOD_STALL_CHECK_DISABLE, 0",
        "--stall-check-warning-time-seconds 10, HOROVOD_STALL_CHECK_TIME_SECONDS, 10",
        "--stall-check-shutdown-time-seconds 20, HOROVOD_STALL_SHUTDOWN_TIME_SECONDS, 20",
        "--log-level INFO, HOROVOD_LOG_LEVEL, info",
        "--log-with-timestamp, HOROVOD_LOG_HIDE_TIME, 0",
        "--log-without-timestamp, HOROVOD_LOG_HIDE_TIME, 1",
        "--log-hide-timestamp, HOROVOD_LOG_HIDE_TIME, 1",
        "--no-log-hide-timestamp, HOROVOD_LOG_HIDE_TIME, 0"
    })
    void horovodsFlagsSetHorovodsVariables(String flag, String variable, String value) {
        assertThat(read("-np 1 " + flag + " train"))
                .asInstanceOf(InstanceOfAssertFactories.type(Invocation.Launch.class))
                .satisfies(
                        launch -> {
                            assertThat(launch.options()).isEqualTo(Map.of(variable, value));
                            assertThat(launch.commands()).containsExactly(List.of("train"));
                        });
    }

    @ParameterizedTest
    @CsvSource({
        "--fusion-threshold-mb -1, 'mebibytes, at least 0'",
        "--fusion-threshold-mb 0.3, 'mebibytes, at least 0'",
        "--cycle-time-ms -1, 'milliseconds, at least 0'",
        "--autotune-gaussian-process-noise 1.5, a number from 0 to 1",
        "--log-level loud, '`trace`, `debug`, `info`'"
    })
    void valuesOfFlagsAreChecked(String flag, String allowed) {
        assertThatThrownBy(() -> read("-np 1 " + flag + " train"))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining(flag.substring(0, flag.indexOf(' ')) + " is '")
                .hasMessageContaining(allowed);
    }

    @Test
    void flagsThatContradictEachOtherAreRefused() {
        assertThatThrownBy(() -> read("-np 1 --no-stall-check --stall-check train"))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("--no-stall-check and --stall-check are about the same");
    }

    @Test
    void aFlagWithAValueThatProcessesWouldRefuseIsRefusedAtOnce() {
        assertThatThrownBy(() -> read("-np 2 --transport pigeon train"))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContainingAll("--transport", "pigeon", "auto", "tcp");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"train -np 3 --verbose", "train -- x", "train @file -H", "train --help"})
    void whatFollowsTheProgramBelongsToIt(String command) {
        for (String before : List.of("-np 1 ", "-np 1 -- ")) {
            assertThat(read(before + command))
                    .asInstanceOf(InstanceOfAssertFactories.type(Invocation.Launch.class))
                    .extracting(it -> it.commands().getFirst())
                    .isEqualTo(List.of(command.split(" ")));
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "''                 | -np is missing",
                "train              | -np is missing",
                "-np 0 train        | -np: '0' is not a number",
                "-np x train        | -np: 'x' is not a number",
                "-np -1 train       | -np: '-1' is not a number",
                "-np 9999999 train  | -np: '9999999' is not a number",
                "-np                | -np needs a value",
                "-np 2              | no command to run",
                "-np 2 --           | no command to run",
                "-np 2 -H a train   | -H: 'a' in 'a' is not a host with slots",
                "-np 2 --verbos x   | Did you mean --verbose?",
                "-np 2 --host a:1 x | Did you mean --hosts?",
                "-np 2 --zebra x    | unknown option '--zebra'",
            })
    void aMistakeIsNamed(String line, String message) {
        assertThatThrownBy(() -> read(line))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining(message);
    }

    @Test
    void helpIsGroupedAndFitsTheScreen() {
        assertThat(told("--help"))
                .contains("Processes and hosts", "Examples", "Exit codes", "-np, --num-proc=N");
        assertThat(told("--help").lines()).allMatch(line -> line.length() <= 80);
    }

    @Test
    void theVersionIsTold() {
        assertThat(told("--version")).startsWith("horovodrun (Horovod4J) ");
    }

    private static String told(String option) {
        return ((Invocation.Tell) read(option)).text();
    }
}

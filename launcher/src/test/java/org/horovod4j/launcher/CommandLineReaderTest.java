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

    @Test
    void allIsUnderstood() {
        assertThat(read("-np 2 -H localhost:4 --verbose train --fast"))
                .isEqualTo(
                        new Invocation.Launch(
                                2,
                                List.of(new Host("localhost", 4)),
                                true,
                                Map.of(),
                                List.of("train", "--fast")));
    }

    @ParameterizedTest
    @ValueSource(strings = {"-np 3 train", "--num-proc 3 train", "--num-proc=3 -- train"})
    void byDefaultThisMachineTakesThemAll(String line) {
        assertThat(read(line))
                .isEqualTo(
                        new Invocation.Launch(
                                3,
                                List.of(new Host("localhost", 3)),
                                false,
                                Map.of(),
                                List.of("train")));
    }

    @Test
    void aFlagOfTheProcessesBecomesTheirVariable() {
        assertThat(read("-np 2 --transport tcp --start-timeout 5 train"))
                .isEqualTo(
                        new Invocation.Launch(
                                2,
                                List.of(new Host("localhost", 2)),
                                false,
                                Map.of("HOROVOD_TRANSPORT", "tcp", "HOROVOD_START_TIMEOUT", "5"),
                                List.of("train")));
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
                    .extracting(Invocation.Launch::command)
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

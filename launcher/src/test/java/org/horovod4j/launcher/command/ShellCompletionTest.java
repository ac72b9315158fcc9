package org.horovod4j.launcher.command;

import static org.assertj.core.api.Assertions.assertThat;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/// Runs the script in a real bash, which must be installed.
class ShellCompletionTest {
    @TempDir Path folder;
    private Path script;

    @BeforeEach
    void writeScript() throws IOException {
        Invocation invocation =
                new CommandLineReader(Map.of(), notice -> {}).read("--completion", "bash");
        script =
                Files.writeString(
                        folder.resolve("horovodrun"), ((Invocation.Print) invocation).text());
    }

    private String bash(String... arguments) throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder("bash");
        builder.command().addAll(List.of(arguments));
        Process process = builder.redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
        return output;
    }

    @Test
    void itIsABashScript() throws Exception {
        assertThat(bash("-n", script.toString())).isEmpty();
    }

    /// Asks for completions like bash does for the tab key: through the registered function.
    private List<String> completions(String line) throws IOException, InterruptedException {
        return bash(
                        "--norc",
                        "-c",
                        """
                        compopt() { :; } # which only bash itself may call, at a prompt
                        source "$1"
                        function=$(complete -p horovodrun | sed 's/.* -F \\([^ ]*\\) .*/\\1/')
                        COMP_WORDS=($2)
                        [ "${2% }" = "$2" ] || COMP_WORDS+=("")
                        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
                        COMP_LINE=$2 COMP_POINT=${#2} COMP_TYPE=9
                        "$function"
                        printf '%s\\n' "${COMPREPLY[@]}"
                        """,
                        "bash",
                        script.toString(),
                        line)
                .lines()
                .map(String::strip)
                .toList();
    }

    @ParameterizedTest
    @CsvSource({
        "horovodrun --fus, --fusion-threshold-mb",
        "horovodrun -np 2 --hostf, --hostfile",
        "horovodrun --verbose --no-auto, --no-autotune",
        "horovodrun --completion z, zsh"
    })
    void flagsAreCompleted(String line, String word) throws Exception {
        assertThat(completions(line)).containsExactly(word);
    }

    @Test
    void allFlagsOfTheHelpAreOffered() throws Exception {
        assertThat(completions("horovodrun -"))
                .contains(
                        "-np", "-H", "--min-np", "--job", "--check-build", "--transport", "--help")
                .doesNotContain("--jsrun", "--num-nccl-streams");
    }
}

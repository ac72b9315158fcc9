package org.horovod4j.launcher.process;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ExitStatusTest {
    @ParameterizedTest
    @CsvSource({
        "0, exit code 0",
        "3, exit code 3",
        "128, exit code 128",
        "130, killed by signal 2 (SIGINT)",
        "137, killed by signal 9 (SIGKILL)",
        "139, killed by signal 11 (SIGSEGV)",
        "143, killed by signal 15 (SIGTERM)",
        "159, killed by signal 31 (SIGSYS)",
        "160, exit code 160",
        "255, exit code 255"
    })
    void toStringDescribesStatus(int status, String words) {
        assertThat(new ExitStatus(status)).hasToString(words);
        assertThat(new ExitStatus(status).failed()).isEqualTo(status != 0);
    }
}

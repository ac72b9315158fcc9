package org.horovod4j.launcher.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

class HostFileTest {
    @TempDir Path folder;

    private List<Host> read(String text) throws IOException {
        return HostFile.read(Files.writeString(folder.resolve("hosts"), text));
    }

    @Test
    void hostsKeepLineOrder() throws Exception {
        assertThat(
                        read(
                                """
                                # our cluster
                                172.31.32.7 slots=8

                                gpu-2:4           # the same, shorter
                                \tgpu-3\tslots=2\t
                                old
                                """))
                .containsExactly(
                        new Host("172.31.32.7", 8),
                        new Host("gpu-2", 4),
                        new Host("gpu-3", 2),
                        new Host("old", 1));
    }

    @Test
    void byteOrderMarkIsSkipped() throws Exception {
        assertThat(read("\ufefflocalhost slots=2\n")).containsExactly(new Host("localhost", 2));
    }

    @Test
    void loginPropertiesAreRead() throws Exception {
        Path key = Files.createFile(folder.resolve("key"));
        assertThat(
                        read(
                                """
                                me@a slots=2 port=2222 identity=%s
                                [fd00::7]:4 user=you
                                [fd00::8]
                                """
                                        .formatted(key)))
                .containsExactly(
                        new Host("a", 2, new Login("me", 2222, key)),
                        new Host("fd00::7", 4, new Login("you", null, null)),
                        new Host("fd00::8", 1));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "a slots=x          | :2: slots=x is not a number from 1 to 999999",
                "a slots=0          | :2: slots=0 is not a number",
                "a:0                | :2: host 'a' has no slots",
                "a slot=2           | :2: 'slot=2' is not understood. Did you mean slots=?",
                "a 2                | :2: '2' is not understood",
                "a port=99999       | :2: port=99999 is not a number from 1 to 65535",
                "a:2 slots=2        | :2: slots are given twice",
                "a user=you@b       | :2: user=you@b is not the name of a user",
                "a user=you;id      | :2: user=you;id is not the name of a user",
                "me@a user=you      | :2: the user is given twice",
                "a slots=1 slots=2  | :2: slots is given twice",
                "a identity=none    | :2: identity: there is no readable file 'none'",
                "-oProxyCommand=x   | :2: '-oProxyCommand=x' is not a host",
                "fd00::7 slots=2    | :2: 'fd00::7' is not a host. Put an IPv6 address in brackets",
                "first slots=3      | :2: host 'first' is in line 1 already",
            })
    void errorContainsLineNumber(String line, String message) {
        assertThatThrownBy(() -> read("first slots=1\n" + line + "\n"))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining(folder.resolve("hosts") + message);
    }

    @Test
    void fileWithoutHostsIsRejected() {
        assertThatThrownBy(() -> read("# none\n")).hasMessageContaining("names no host");
    }
}

package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.testsupport.TestJvm;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/// A fake ssh that runs its command on this machine, for jobs through agents. For real ssh and
/// hosts see [SshHostsIT].
///
/// @param folder where it is; first on the `PATH`
record FakeSsh(Path folder) {
    /// Fails like ssh for some hosts, and logs in to the others.
    private static final String SCRIPT =
            """
            #!/bin/sh
            for word do host=$command; command=$word; done
            case $host in
                refused.invalid)
                    echo "ssh: connect to host $host port 22: Connection refused" >&2
                    exit 255 ;;
                denied.invalid)
                    echo "me@$host: Permission denied (publickey)." >&2
                    exit 255 ;;
                busy.invalid) # turns away the first few; the file says how many
                    left=$(cat "$0.busy")
                    if [ "$left" -gt 0 ]; then
                        echo $((left - 1)) >"$0.busy"
                        echo "kex_exchange_identification: read: Connection reset by peer" >&2
                        exit 255
                    fi ;;
                silent.invalid)
                    touch "$0.silent"
                    exec sleep 1004 ;;
                distant.invalid)
                    env -i HOME="$HOME" PATH=/usr/bin:/bin sh -c "$command" | $DELAYED_LINE
                    exit ;;
                full.invalid) # its environment is so large that little more fits in
                    ulimit -s 8192
                    env -i HOME="$HOME" PATH=/usr/bin:/bin sh -c '
                        some=$(head -c 122880 /dev/zero | tr "\\0" x)
                        for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do export "V$i=$some"; done
                        sh -c "$0"' "$command" | $DELAYED_LINE
                    exit ;;
            esac
            exec env -i HOME="$HOME" PATH=/usr/bin:/bin sh -c "$command"
            """;

    static FakeSsh in(Path folder) throws IOException {
        Path ssh = folder.resolve("ssh");
        Files.writeString(ssh, SCRIPT);
        assertThat(ssh.toFile().setExecutable(true)).isTrue();
        return new FakeSsh(folder);
    }

    /// Makes `busy.invalid` refuse this many logins.
    void busyFor(int times) throws IOException {
        Files.writeString(folder.resolve("ssh.busy"), times + "\n");
    }

    /// A launcher that uses it.
    LauncherProcess start(String... arguments) throws IOException {
        return start(Map.of(), arguments);
    }

    LauncherProcess start(Map<String, String> variables, String... arguments) throws IOException {
        Map<String, String> all = new HashMap<>(variables);
        all.put("PATH", path());
        return LauncherProcess.start(all, arguments);
    }

    String path() {
        return folder + ":" + System.getenv("PATH");
    }

    /// The value of `DELAYED_LINE` for hosts behind a [DelayedPipe].
    static String delayedPipe(int millis, int fromByte) {
        return String.join(
                " ",
                TestJvm.JAVA,
                TestJvm.NO_PERFORMANCE_DATA,
                "-XX:TieredStopAtLevel=1",
                "-cp",
                TestJvm.CLASS_PATH,
                DelayedPipe.class.getName(),
                Integer.toString(millis),
                Integer.toString(fromByte));
    }
}

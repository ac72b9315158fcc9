package org.horovod4j.launcher.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.testsupport.Processes;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/// A watchdog spares a process that has got the number of one that it watched. The tests run in a
/// namespace of process numbers, where the next number can be chosen.
class WatchdogIT {
    private static final List<String> NAMESPACE =
            List.of("unshare", "--kill-child", "--pid", "--fork", "--mount-proc");
    private static final Path LAST_NUMBER = Path.of("/proc/sys/kernel/ns_last_pid");

    @BeforeEach
    void checkThatNumbersCanBeChosen() throws Exception {
        List<String> command = new ArrayList<>(NAMESPACE);
        command.addAll(List.of("sh", "-c", "echo 100 >" + LAST_NUMBER));
        assumeTrue(Processes.run(command.toArray(String[]::new)) == 0, "needs Linux and root");
    }

    @Test
    void scriptSparesProcessWithReusedNumber(@TempDir Path folder) throws Exception {
        Path script = folder.resolve("watchdog.sh");
        try (InputStream text = LocalHost.class.getResourceAsStream("watchdog.sh")) {
            Files.copy(Objects.requireNonNull(text), script);
        }
        String program =
                """
                cd "$1"
                mkfifo commands
                sh watchdog.sh <commands &
                watchdog=$!
                exec 3>commands
                printf '%s\\n' WATCHED=job "$1/secrets" >&3
                setsid sleep 1000 3>&- &
                first=$!
                until [ "$(cut -d ' ' -f 5 /proc/$first/stat)" = $first ]; do :; done
                printf '%s\\n' "watch $first" "signal TERM" >&3
                wait $first
                ended=$?
                sleep 0.1 # start times are counted in hundredths of a second
                echo $((first - 1)) >/proc/sys/kernel/ns_last_pid
                setsid sleep 1001 3>&- &
                second=$!
                until [ "$(cut -d ' ' -f 5 /proc/$second/stat)" = $second ]; do :; done
                exec 3>&-
                wait $watchdog
                kill -s 0 $second && survived=yes
                kill -s KILL $second
                echo first ended with $ended, second has the same number: $((first == second)), \
                survived: $survived
                """;
        assertThat(output(List.of("sh", "-c", program, "sh", folder.toString())))
                .contains("first ended with 143, second has the same number: 1, survived: yes");
    }

    @Test
    void javaWatchdogSparesProcessWithReusedNumber() throws Exception {
        assertThat(
                        output(
                                List.of(
                                        JavaHome.current().java().toString(),
                                        "-cp",
                                        System.getProperty("java.class.path"),
                                        Reuse.class.getName())))
                .contains("survived: true");
    }

    /// Runs in the namespace.
    static final class Reuse {
        private Reuse() {}

        public static void main(String[] arguments) throws Exception {
            Watchdog watchdog = new Watchdog();
            Process first = sleep();
            watchdog.follow("watch " + first.pid());
            first.destroyForcibly().waitFor();
            Thread.sleep(100); // start times are counted in hundredths of a second
            Process second = sleepWithNumber(first.pid());
            watchdog.end();
            System.out.println("survived: " + second.isAlive());
            second.destroyForcibly().waitFor();
        }

        private static Process sleep() throws IOException {
            return new ProcessBuilder("sleep", "1000").start();
        }

        /// Threads of the JVM take numbers too, so it may need several attempts.
        private static Process sleepWithNumber(long number) throws Exception {
            while (true) {
                Files.writeString(LAST_NUMBER, Long.toString(number - 1));
                Process process = sleep();
                if (process.pid() == number) {
                    return process;
                }
                process.destroyForcibly().waitFor();
            }
        }
    }

    private static String output(List<String> command) throws Exception {
        List<String> all = new ArrayList<>(NAMESPACE);
        all.addAll(command);
        Process process = new ProcessBuilder(all).redirectErrorStream(true).start();
        String text = new String(process.getInputStream().readAllBytes(), UTF_8);
        process.waitFor();
        return text;
    }
}

package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.testsupport.Processes;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/// The launcher on a terminal, which `script` of util-linux provides.
class ProgressIT {
    @Test
    void joiningRanksAreCountedAndLineIsCleared() throws Exception {
        String text =
                onATerminal(
                        "java %s -cp $TEST_CLASS_PATH %s"
                                .formatted(
                                        TestJvm.NO_PERFORMANCE_DATA,
                                        InitShutdownProgram.class.getName()));
        assertThat(text).contains("horovodrun: 0 of 2 ranks ready").endsWith("\r\033[K");
    }

    @Test
    void rankOutputReplacesProgressLine() throws Exception {
        String text = onATerminal("sh -c 'echo here'");
        assertThat(text.substring(text.indexOf("here"))).doesNotContain("ranks ready");
    }

    @Test
    void readyHostsAreCounted(@TempDir Path folder) throws Exception {
        FakeSsh ssh = FakeSsh.in(folder);
        ssh.busyFor(3);
        String text =
                onATerminal(
                        Map.of("PATH", ssh.path()),
                        "-H far.invalid:1,busy.invalid:1 sh -c 'echo here'");
        assertThat(text)
                .contains("of 2 hosts ready, waiting for busy.invalid")
                .containsSubsequence("hosts ready", "here");
    }

    private static String onATerminal(String program) throws Exception {
        return onATerminal(Map.of(), program);
    }

    private static String onATerminal(Map<String, String> variables, String program)
            throws Exception {
        String launcher =
                "%s %s -XX:TieredStopAtLevel=1 -cp $TEST_CLASS_PATH %s -np 2 %s"
                        .formatted(
                                TestJvm.JAVA,
                                TestJvm.NO_PERFORMANCE_DATA,
                                HorovodRun.class.getName(),
                                program);
        ProcessBuilder builder =
                new ProcessBuilder(List.of("script", "-qec", launcher, "/dev/null"));
        Map<String, String> environment = builder.environment();
        environment.put("TERM", "xterm");
        environment.putAll(variables);
        environment.put("TEST_CLASS_PATH", TestJvm.CLASS_PATH);
        return Processes.output(builder);
    }
}

package org.horovod4j.launcher.output;

import static org.assertj.core.api.Assertions.assertThat;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.junit.jupiter.api.Test;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;

class LauncherConsoleTest {
    @Test
    void closedStreamIsReportedOnce() {
        ByteArrayOutputStream errors = new ByteArrayOutputStream();
        LauncherConsole launcherConsole = new LauncherConsole(new BrokenPipe(), errors);
        launcherConsole.print("a\n");
        launcherConsole.print("b\n");
        assertThat(errors.toString(UTF_8))
                .containsOnlyOnce("cannot write to stdout any more (Broken pipe)");
    }

    @Test
    void bothStreamsMayBeClosed() {
        LauncherConsole launcherConsole = new LauncherConsole(new BrokenPipe(), new BrokenPipe());
        launcherConsole.print("a\n");
        launcherConsole.printMessage("b");
    }

    @Test
    void messagesCarryTimeOnEachLine() {
        ByteArrayOutputStream errors = new ByteArrayOutputStream();
        LauncherConsole launcherConsole = new LauncherConsole(errors, errors);
        launcherConsole.useTimestamps();
        launcherConsole.printMessage("the job failed.\n  Its last lines:");
        assertThat(errors.toString(UTF_8).lines())
                .satisfiesExactly(
                        line -> assertThat(line).matches("\\d{4}-\\S+ horovodrun: the job.*"),
                        line -> assertThat(line).matches("\\d{4}-\\S+   Its last lines:"));
        assertThat(launcherConsole.lastMessage()).startsWith("the job failed.");
    }

    /// Others choose what a message quotes: the name of a process, the output of ssh.
    @Test
    void controlCharactersInMessagesAreEscaped() {
        ByteArrayOutputStream errors = new ByteArrayOutputStream();
        LauncherConsole launcherConsole = new LauncherConsole(errors, errors, true);
        launcherConsole.status("host \033]0;title\007");
        launcherConsole.printMessage("left behind:\n\tsleep \033[2J\r\u009b1m\u007f ü");
        assertThat(errors.toString(UTF_8))
                .contains("host \\x1b]0;title\\x07")
                .endsWith("left behind:\n\tsleep \\x1b[2J\\x0d\\x9b1m\\x7f ü\n");
        assertThat(launcherConsole.lastMessage()).doesNotContain("\033");
    }

    private static final class BrokenPipe extends OutputStream {
        @Override
        public void write(int b) throws IOException {
            throw new IOException("Broken pipe");
        }
    }
}

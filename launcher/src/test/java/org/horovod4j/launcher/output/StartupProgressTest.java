package org.horovod4j.launcher.output;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.launcher.output.LauncherConsole.StandardStream;
import org.junit.jupiter.api.Test;

import java.io.ByteArrayOutputStream;
import java.util.List;

class StartupProgressTest {
    private static final String ERASE = "\r\033[K";

    private final ByteArrayOutputStream screen = new ByteArrayOutputStream();
    private final LauncherConsole terminal = new LauncherConsole(screen, screen, true);

    @Test
    void hostWithMostMissingRanksIsShown() {
        try (StartupProgress startupProgress =
                StartupProgress.show(silent(), List.of("a", "a", "b", "b", "b"))) {
            assertThat(startupProgress.line())
                    .isEqualTo("0 of 5 ranks ready, waiting for b (0 of 3)");
            startupProgress.joined(2);
            startupProgress.joined(4);
            startupProgress.joined(4);
            assertThat(startupProgress.line())
                    .isEqualTo("2 of 5 ranks ready, waiting for a (0 of 2)");
        }
        assertThat(screen.toString(UTF_8)).isEmpty();
    }

    @Test
    void hostsAreCountedBeforeRanks() {
        try (StartupProgress startupProgress =
                StartupProgress.showHosts(silent(), List.of("a", "b", "c"))) {
            startupProgress.joined(0);
            startupProgress.joined(2);
            assertThat(startupProgress.line()).isEqualTo("2 of 3 hosts ready, waiting for b");
        }
    }

    @Test
    void singleHostIsNotNamed() {
        try (StartupProgress startupProgress =
                StartupProgress.show(silent(), List.of("localhost", "localhost"))) {
            startupProgress.joined(1);
            assertThat(startupProgress.line()).isEqualTo("1 of 2 ranks ready");
        }
    }

    @Test
    void statusLineIsUpdatedAndErasedWhenAllAreReady() {
        try (StartupProgress startupProgress =
                StartupProgress.show(terminal, List.of("localhost", "localhost"))) {
            awaitScreen("0 of 2 ranks ready");
            startupProgress.joined(1);
            awaitScreen("1 of 2 ranks ready");
            startupProgress.joined(0);
            await().until(() -> screen.toString(UTF_8).endsWith(ERASE));
        }
    }

    @Test
    void closeErasesStatusLine() {
        try (StartupProgress _ = StartupProgress.show(terminal, List.of("localhost"))) {
            awaitScreen("0 of 1 ranks ready");
        }
        assertThat(screen.toString(UTF_8)).endsWith(ERASE);
    }

    @Test
    void messageErasesStatusLine() {
        terminal.status("0 of 2 ranks ready");
        terminal.printMessage("started");
        terminal.status("1 of 2 ranks ready");
        assertThat(screen.toString(UTF_8)).contains(ERASE + "horovodrun: started\n" + ERASE);
    }

    @Test
    void rankOutputEndsStatusLine() {
        terminal.status("0 of 2 ranks ready");
        terminal.write(StandardStream.STDOUT, "[0]<stdout>:10 %\r".getBytes(UTF_8));
        terminal.status("1 of 2 ranks ready");
        assertThat(screen.toString(UTF_8)).endsWith(ERASE + "[0]<stdout>:10 %\r");
    }

    private LauncherConsole silent() {
        return new LauncherConsole(screen, screen);
    }

    private void awaitScreen(String text) {
        await().until(() -> screen.toString(UTF_8).contains(text));
    }
}

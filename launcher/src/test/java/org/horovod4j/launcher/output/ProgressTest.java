package org.horovod4j.launcher.output;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.launcher.output.Console.Channel;
import org.junit.jupiter.api.Test;

import java.io.ByteArrayOutputStream;
import java.util.List;

class ProgressTest {
    private static final String ERASE = "\r\033[K";

    private final ByteArrayOutputStream screen = new ByteArrayOutputStream();
    private final Console terminal = new Console(screen, screen, true);

    @Test
    void theHostThatLacksMostIsNamed() {
        try (Progress progress = Progress.show(silent(), List.of("a", "a", "b", "b", "b"))) {
            assertThat(progress.line()).isEqualTo("0 of 5 ranks ready, waiting for b (0 of 3)");
            progress.joined(2);
            progress.joined(4);
            progress.joined(4);
            assertThat(progress.line()).isEqualTo("2 of 5 ranks ready, waiting for a (0 of 2)");
        }
        assertThat(screen.toString(UTF_8)).isEmpty();
    }

    @Test
    void hostsAreCountedBeforeRanks() {
        try (Progress progress = Progress.ofHosts(silent(), List.of("a", "b", "c"))) {
            progress.joined(0);
            progress.joined(2);
            assertThat(progress.line()).isEqualTo("2 of 3 hosts ready, waiting for b");
        }
    }

    @Test
    void oneHostNeedsNoName() {
        try (Progress progress = Progress.show(silent(), List.of("localhost", "localhost"))) {
            progress.joined(1);
            assertThat(progress.line()).isEqualTo("1 of 2 ranks ready");
        }
    }

    @Test
    void theLineIsReplacedAndErasedWhenAllAreReady() {
        try (Progress progress = Progress.show(terminal, List.of("localhost", "localhost"))) {
            awaitScreen("0 of 2 ranks ready");
            progress.joined(1);
            awaitScreen("1 of 2 ranks ready");
            progress.joined(0);
            await().until(() -> screen.toString(UTF_8).endsWith(ERASE));
        }
    }

    @Test
    void nothingIsLeftOfItAfterTheEnd() {
        try (Progress _ = Progress.show(terminal, List.of("localhost"))) {
            awaitScreen("0 of 1 ranks ready");
        }
        assertThat(screen.toString(UTF_8)).endsWith(ERASE);
    }

    @Test
    void aMessageComesOnALineOfItsOwn() {
        terminal.status("0 of 2 ranks ready");
        terminal.say("started");
        terminal.status("1 of 2 ranks ready");
        assertThat(screen.toString(UTF_8)).contains(ERASE + "horovodrun: started\n" + ERASE);
    }

    @Test
    void outputOfARankEndsTheLineForGood() {
        terminal.status("0 of 2 ranks ready");
        terminal.write(Channel.STDOUT, "[0]<stdout>:10 %\r".getBytes(UTF_8));
        terminal.status("1 of 2 ranks ready");
        assertThat(screen.toString(UTF_8)).endsWith(ERASE + "[0]<stdout>:10 %\r");
    }

    private Console silent() {
        return new Console(screen, screen);
    }

    private void awaitScreen(String text) {
        await().until(() -> screen.toString(UTF_8).contains(text));
    }
}

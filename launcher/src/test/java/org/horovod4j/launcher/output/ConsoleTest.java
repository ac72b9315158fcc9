package org.horovod4j.launcher.output;

import static org.assertj.core.api.Assertions.assertThat;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.junit.jupiter.api.Test;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;

class ConsoleTest {
    @Test
    void aStreamThatNobodyReadsIsGivenUpOnce() {
        ByteArrayOutputStream errors = new ByteArrayOutputStream();
        Console console = new Console(new BrokenPipe(), errors);
        console.print("a\n");
        console.print("b\n");
        assertThat(errors.toString(UTF_8))
                .containsOnlyOnce("cannot write to stdout any more (Broken pipe)");
    }

    @Test
    void bothStreamsMayBeGone() {
        Console console = new Console(new BrokenPipe(), new BrokenPipe());
        console.print("a\n");
        console.say("b");
    }

    private static final class BrokenPipe extends OutputStream {
        @Override
        public void write(int b) throws IOException {
            throw new IOException("Broken pipe");
        }
    }
}

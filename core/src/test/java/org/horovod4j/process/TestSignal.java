package org.horovod4j.process;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;

/// A rank's wait for a word of the test: `TestRankProcess.cue` gives it.
final class TestSignal {
    private static final BufferedReader INPUT =
            new BufferedReader(new InputStreamReader(System.in, UTF_8));

    private TestSignal() {}

    /// Returns when the test has said so, or is gone.
    static void await() {
        try {
            var _ = INPUT.readLine();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /// Whether the test has said so already.
    static boolean isReceived() {
        try {
            return INPUT.ready();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

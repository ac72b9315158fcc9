package org.horovod4j.process;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;

/// Lets a rank wait for a signal of the test, which [TestRankProcess#sendSignal] sends.
final class TestSignal {
    private static final BufferedReader INPUT =
            new BufferedReader(new InputStreamReader(System.in, UTF_8));

    private TestSignal() {}

    /// Returns when the test has sent a signal or has exited.
    static void await() {
        try {
            var _ = INPUT.readLine();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /// Whether the test has already sent a signal.
    static boolean isReceived() {
        try {
            return INPUT.ready();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

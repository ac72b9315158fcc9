package org.horovod4j.launcher.process;

import static org.assertj.core.api.Assertions.assertThat;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

class OutputReaderTest {
    private static final Duration SILENCE = Duration.ofSeconds(1);

    private final AtomicLong nanos = new AtomicLong();
    private final ByteArrayOutputStream received = new ByteArrayOutputStream();
    private final SilentStream stream = new SilentStream();

    @AfterEach
    void endStream() {
        stream.released.countDown();
    }

    private OutputReader startSilent() throws InterruptedException {
        OutputReader reader =
                OutputReader.start(
                        "test",
                        stream,
                        100,
                        new OutputReader.Receiver() {
                            @Override
                            public void onBytes(byte[] chunk, int length) {
                                received.write(chunk, 0, length);
                            }

                            @Override
                            public void onEnd() {}
                        },
                        nanos::get);
        stream.reading.await();
        nanos.addAndGet(2 * SILENCE.toNanos());
        return reader;
    }

    @Test
    void silenceBeforeTheCallDoesNotCount() throws Exception {
        OutputReader reader = startSilent();
        CompletableFuture.delayedExecutor(200, TimeUnit.MILLISECONDS)
                .execute(stream.released::countDown);
        assertThat(reader.awaitEnd(SILENCE)).isTrue();
        assertThat(received.toString(UTF_8)).isEqualTo("last line\n");
    }

    @Test
    void silentStreamIsGivenUp() throws Exception {
        OutputReader reader = startSilent();
        long beginNanos = nanos.get();
        CompletableFuture.delayedExecutor(200, TimeUnit.MILLISECONDS)
                .execute(() -> nanos.addAndGet(2 * SILENCE.toNanos()));
        assertThat(reader.awaitEnd(SILENCE, beginNanos)).isFalse();
        assertThat(reader.hasEnded()).isFalse();
    }

    @Test
    void waitForSeveralReadersCountsFromTheFirst() throws Exception {
        OutputReader reader = startSilent();
        assertThat(reader.awaitEnd(SILENCE, nanos.get() - 2 * SILENCE.toNanos())).isFalse();
    }

    /// Silent until it is released. Then it has one line.
    private static final class SilentStream extends InputStream {
        private final CountDownLatch reading = new CountDownLatch(1);
        private final CountDownLatch released = new CountDownLatch(1);
        private final InputStream line = new ByteArrayInputStream("last line\n".getBytes(UTF_8));

        @Override
        public int read() throws IOException {
            reading.countDown();
            try {
                released.await();
            } catch (InterruptedException e) {
                throw new InterruptedIOException();
            }
            return line.read();
        }

        @Override
        public int read(byte[] bytes, int offset, int length) throws IOException {
            int first = read();
            if (first < 0) {
                return first;
            }
            bytes[offset] = (byte) first;
            return 1;
        }
    }
}

package org.horovod4j.security;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.security.Handshake.Purpose;
import org.horovod4j.testsupport.ByteFuzzer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.Arrays;

class HandshakeHelloTest {
    @ParameterizedTest
    @EnumSource(Protection.class)
    void readReturnsWhatWasWritten(Protection protection) throws Exception {
        byte[] bytes = hello(protection).bytes();
        HandshakeHello read = read(bytes);
        assertThat(read).isNotNull();
        assertThat(read.protection()).isEqualTo(protection);
        assertThat(read.bytes()).isEqualTo(bytes);
        assertThat(read.publicKey()).isEqualTo(hello(protection).publicKey());
        assertThat(read(Arrays.copyOf(bytes, bytes.length - 1))).isNull();
    }

    @Test
    void corruptedBytesThrowOnlyHandshakeExceptions() {
        assertThat(fuzzer().run(ByteFuzzer.SHORT)).isPositive();
    }

    @Test
    @Tag("slow")
    void manyCorruptedBytesAreReadOrRefused() {
        assertThat(fuzzer().run(ByteFuzzer.LONG)).isPositive();
    }

    private static ByteFuzzer fuzzer() {
        return new ByteFuzzer(
                "HandshakeHello",
                Arrays.stream(Protection.values()).map(each -> hello(each).bytes()).toList(),
                HandshakeHelloTest::read,
                HandshakeException.class);
    }

    private static HandshakeHello hello(Protection protection) {
        byte[] nonce = new byte[HandshakeHello.nonceSize()];
        Arrays.fill(nonce, (byte) 7);
        byte[] publicKey =
                switch (protection) {
                    case AUTHENTICATED -> new byte[0];
                    case ENCRYPTED -> new byte[HandshakeHello.KEY_SIZE];
                };
        return HandshakeHello.of(Purpose.LINK, protection, nonce, publicKey);
    }

    /// Reads as an acceptor does: no more bytes than are missing; null if they end early.
    private static @Nullable HandshakeHello read(byte[] bytes) throws HandshakeException {
        int read = 0;
        while (true) {
            int missing = HandshakeHello.missingBytes(Arrays.copyOf(bytes, read), Purpose.LINK);
            if (missing == 0) {
                HandshakeHello hello = HandshakeHello.of(Arrays.copyOf(bytes, read));
                byte[] _ = hello.publicKey();
                return hello;
            }
            assertThat(missing).isPositive();
            read += missing;
            if (read > bytes.length) {
                return null;
            }
        }
    }
}

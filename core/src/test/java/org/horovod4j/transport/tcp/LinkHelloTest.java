package org.horovod4j.transport.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.testsupport.ByteFuzzer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.util.List;

class LinkHelloTest {
    private static final LinkHello HELLO = new LinkHello(1L << 60, 2, 3, 4, 5, 6, 1, 2);

    @Test
    void decodeReturnsWhatWasEncoded() throws Exception {
        assertThat(LinkHello.decode(HELLO.encode())).isEqualTo(HELLO);
    }

    @Test
    void bytesOfAnotherLengthAreRefused() {
        fuzzer().runOtherLengths();
    }

    @Test
    void corruptedBytesThrowOnlyIoExceptions() {
        assertThat(fuzzer().run(ByteFuzzer.SHORT)).isPositive();
    }

    @Test
    @Tag("slow")
    void manyCorruptedBytesAreDecodedOrRefused() {
        assertThat(fuzzer().run(ByteFuzzer.LONG)).isPositive();
    }

    private static ByteFuzzer fuzzer() {
        return new ByteFuzzer(
                "LinkHello", List.of(HELLO.encode()), LinkHello::decode, IOException.class);
    }
}

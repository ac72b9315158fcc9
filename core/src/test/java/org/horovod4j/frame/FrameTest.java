package org.horovod4j.frame;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.util.Arrays;

class FrameTest {
    private static final int LIMIT = 1000;

    @ParameterizedTest
    @ValueSource(ints = {0, 1, LIMIT})
    void writtenFrameIsReadBack(int length) throws IOException {
        byte[] sent = new byte[length];
        Arrays.fill(sent, (byte) 7);
        assertThat(Frame.read(stream(sent), LIMIT)).isEqualTo(sent);
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, LIMIT + 1, Integer.MAX_VALUE})
    void invalidLengthIsRefused(int length) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        new DataOutputStream(bytes).writeInt(length);
        assertThatThrownBy(() -> Frame.read(input(bytes.toByteArray()), LIMIT))
                .isInstanceOf(MalformedMessageException.class)
                .hasMessage("a frame of %d bytes, at most 1000 are allowed".formatted(length));
    }

    @Test
    void endOfStreamWithinFrameThrowsEof() throws IOException {
        byte[] whole = stream(new byte[10]).readAllBytes();
        assertThatThrownBy(() -> Frame.read(input(Arrays.copyOf(whole, 12)), LIMIT))
                .isInstanceOf(EOFException.class)
                .hasMessage("closed after 8 of 10 bytes");
    }

    private static DataInputStream stream(byte[] frame) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        Frame.write(frame, new DataOutputStream(bytes));
        return input(bytes.toByteArray());
    }

    private static DataInputStream input(byte[] bytes) {
        return new DataInputStream(new ByteArrayInputStream(bytes));
    }
}

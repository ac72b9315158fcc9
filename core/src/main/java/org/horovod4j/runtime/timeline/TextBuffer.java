package org.horovod4j.runtime.timeline;

import java.nio.ByteBuffer;
import java.util.Arrays;

/// A growing buffer of text in bytes. It formats events without a string or a copy for each part.
final class TextBuffer {
    private static final int MAX_DIGITS = 20;

    private byte[] bytes;
    private int length;

    TextBuffer(int capacity) {
        this.bytes = new byte[capacity];
    }

    int length() {
        return length;
    }

    /// Keeps the first `count` bytes only.
    void truncate(int count) {
        length = count;
    }

    TextBuffer put(byte[] text) {
        ensure(text.length);
        System.arraycopy(text, 0, bytes, length, text.length);
        length += text.length;
        return this;
    }

    /// Appends a number, which must not be negative.
    TextBuffer put(long number) {
        ensure(MAX_DIGITS);
        int end = length + digits(number);
        long rest = number;
        for (int i = end - 1; i >= length; i--) {
            bytes[i] = (byte) ('0' + rest % 10);
            rest /= 10;
        }
        length = end;
        return this;
    }

    private static int digits(long number) {
        int digits = 1;
        for (long rest = number; rest > 9; rest /= 10) {
            digits++;
        }
        return digits;
    }

    /// The current bytes, to be read before more are appended.
    ByteBuffer view() {
        return ByteBuffer.wrap(bytes, 0, length);
    }

    private void ensure(int more) {
        if (length + more > bytes.length) {
            bytes = Arrays.copyOf(bytes, Math.max(length + more, 2 * bytes.length));
        }
    }
}

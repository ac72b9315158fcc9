package org.horovod4j.frame;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/// Decodes what [FieldWriter] encoded. Trusts nothing: a length is checked against the remaining
/// bytes before memory is allocated for it.
public final class FieldReader {
    private final ByteBuffer bytes;

    private FieldReader(byte[] bytes) {
        this.bytes = ByteBuffer.wrap(bytes);
    }

    /// Reads one value of any number of fields.
    @FunctionalInterface
    public interface MessageParser<T> {
        /// Reads the fields, in order.
        ///
        /// @throws IllegalArgumentException when the fields are not valid
        T read(FieldReader in) throws MalformedMessageException;
    }

    /// Decodes one message.
    ///
    /// @throws MalformedMessageException when `bytes` are not exactly one message
    public static <T> T read(byte[] bytes, MessageParser<T> message)
            throws MalformedMessageException {
        FieldReader in = new FieldReader(bytes);
        try {
            T read = message.read(in);
            if (in.bytes.hasRemaining()) {
                throw new MalformedMessageException(in.bytes.remaining() + " extra bytes");
            }
            return read;
        } catch (IllegalArgumentException e) {
            throw new MalformedMessageException(String.valueOf(e.getMessage()));
        }
    }

    public byte octet() throws MalformedMessageException {
        require(Byte.BYTES);
        return bytes.get();
    }

    public boolean flag() throws MalformedMessageException {
        return octet() != 0;
    }

    public int int32() throws MalformedMessageException {
        require(Integer.BYTES);
        return bytes.getInt();
    }

    public long int64() throws MalformedMessageException {
        require(Long.BYTES);
        return bytes.getLong();
    }

    public byte[] bytes() throws MalformedMessageException {
        byte[] read = new byte[count(1)];
        bytes.get(read);
        return read;
    }

    public String text() throws MalformedMessageException {
        return new String(bytes(), UTF_8);
    }

    public <T> T constant(T[] all) throws MalformedMessageException {
        int ordinal = Byte.toUnsignedInt(octet());
        if (ordinal >= all.length) {
            throw new MalformedMessageException("no constant has number " + ordinal);
        }
        return all[ordinal];
    }

    /// Reads a list.
    ///
    /// @param leastBytes the fewest bytes that an element takes
    public <T> List<T> list(int leastBytes, MessageParser<T> each)
            throws MalformedMessageException {
        int count = count(leastBytes);
        List<T> list = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            list.add(each.read(this));
        }
        return List.copyOf(list);
    }

    private int count(int leastBytes) throws MalformedMessageException {
        int count = int32();
        if (count < 0 || count > bytes.remaining() / leastBytes) {
            throw new MalformedMessageException(
                    "a length of %d with %d bytes left".formatted(count, bytes.remaining()));
        }
        return count;
    }

    private void require(int count) throws MalformedMessageException {
        if (bytes.remaining() < count) {
            throw new MalformedMessageException("too few bytes: " + bytes.limit());
        }
    }
}

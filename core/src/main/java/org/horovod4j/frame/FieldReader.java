package org.horovod4j.frame;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/// Takes apart what [FieldWriter] made. Nothing in it is believed: a length is held against the
/// bytes that are left before memory is taken for it.
public final class FieldReader {
    private final ByteBuffer bytes;

    private FieldReader(byte[] bytes) {
        this.bytes = ByteBuffer.wrap(bytes);
    }

    /// Reads one thing, of any number of fields.
    @FunctionalInterface
    public interface MessageParser<T> {
        /// Reads its fields, in order.
        ///
        /// @throws IllegalArgumentException when the fields are no such thing
        T read(FieldReader in) throws MalformedMessageException;
    }

    /// The message that `bytes` are.
    ///
    /// @throws MalformedMessageException when they are not exactly one
    public static <T> T read(byte[] bytes, MessageParser<T> message)
            throws MalformedMessageException {
        FieldReader in = new FieldReader(bytes);
        try {
            T read = message.read(in);
            if (in.bytes.hasRemaining()) {
                throw new MalformedMessageException(in.bytes.remaining() + " bytes too many");
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
            throw new MalformedMessageException("constant " + ordinal + " of " + all.length);
        }
        return all[ordinal];
    }

    /// The things of a list.
    ///
    /// @param leastBytes how many each of them takes at least
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
                    "a length of %d where %d bytes are left".formatted(count, bytes.remaining()));
        }
        return count;
    }

    private void require(int count) throws MalformedMessageException {
        if (bytes.remaining() < count) {
            throw new MalformedMessageException("too few bytes: " + bytes.limit());
        }
    }
}

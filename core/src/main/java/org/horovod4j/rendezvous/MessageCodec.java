package org.horovod4j.rendezvous;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.spi.Loss;
import org.horovod4j.spi.Member;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/// Messages as bytes: one byte for the kind, then the fields in order, big-endian.
///
/// Text, byte arrays and lists begin with their length, which is checked against the bytes that are
/// there before anything is allocated for it.
final class MessageCodec {
    private static final byte HEARTBEAT = 0;
    private static final byte JOIN = 1;
    private static final byte GATHER = 2;
    private static final byte SURVEY = 3;
    private static final byte LEAVE = 4;
    private static final byte REFUSED = 5;
    private static final byte JOINED = 6;
    private static final byte GATHERED = 7;
    private static final byte DESCRIBE = 8;
    private static final byte LOST = 9;
    private static final byte DESCRIBED = 10;
    private static final byte ANSWER = 11;
    private static final byte SURVEYED = 12;

    /// More process sets than any program has, and few enough for a frame.
    static final int MAX_PROCESS_SETS = 1 << 16;

    private MessageCodec() {}

    static byte[] encode(Message message) {
        try {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            write(message, new DataOutputStream(bytes));
            return bytes.toByteArray();
        } catch (IOException e) {
            throw new IllegalStateException("writing into memory does not fail", e);
        }
    }

    /// @throws MalformedMessageException when `bytes` are not exactly one message
    static Message decode(byte[] bytes) throws MalformedMessageException {
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes));
        try {
            Message message = read(in);
            if (in.available() > 0) {
                throw new MalformedMessageException(in.available() + " bytes too many");
            }
            return message;
        } catch (MalformedMessageException e) {
            throw e;
        } catch (EOFException e) {
            throw new MalformedMessageException("too few bytes: " + bytes.length);
        } catch (IOException | IllegalArgumentException e) {
            throw new MalformedMessageException(String.valueOf(e.getMessage()));
        }
    }

    private static void write(Message message, DataOutputStream out) throws IOException {
        switch (message) {
            case Message.Heartbeat() -> out.writeByte(HEARTBEAT);
            case Message.Join(int generation, int size, Member member) -> {
                out.writeByte(JOIN);
                out.writeInt(generation);
                out.writeInt(size);
                write(member, out);
            }
            case Message.Gather(String topic, byte[] share) -> {
                out.writeByte(GATHER);
                write(topic, out);
                write(share, out);
            }
            case Message.Survey(int number) -> {
                out.writeByte(SURVEY);
                out.writeInt(number);
            }
            case Message.Described(int asker, int number, byte[] text) -> {
                out.writeByte(DESCRIBED);
                out.writeInt(asker);
                out.writeInt(number);
                write(text, out);
            }
            case Message.Leave(Map<Integer, Long> completed, boolean orderly, String reason) -> {
                out.writeByte(LEAVE);
                write(completed, out);
                out.writeBoolean(orderly);
                write(reason, out);
            }
            case Message.Refused(String reason) -> {
                out.writeByte(REFUSED);
                write(reason, out);
            }
            case Message.Joined(List<Member> members) -> {
                out.writeByte(JOINED);
                out.writeInt(members.size());
                for (Member member : members) {
                    write(member, out);
                }
            }
            case Message.Gathered(String topic, List<byte[]> shares) -> {
                out.writeByte(GATHERED);
                write(topic, out);
                out.writeInt(shares.size());
                for (byte[] share : shares) {
                    write(share, out);
                }
            }
            case Message.Describe(int asker, int number) -> {
                out.writeByte(DESCRIBE);
                out.writeInt(asker);
                out.writeInt(number);
            }
            case Message.Answer(int number, int rank, byte[] text) -> {
                out.writeByte(ANSWER);
                out.writeInt(number);
                out.writeInt(rank);
                write(text, out);
            }
            case Message.Surveyed(int number) -> {
                out.writeByte(SURVEYED);
                out.writeInt(number);
            }
            case Message.Lost(Loss loss, long pid) -> {
                out.writeByte(LOST);
                write(loss, out);
                out.writeLong(pid);
            }
        }
    }

    private static Message read(DataInputStream in) throws IOException {
        byte kind = in.readByte();
        return switch (kind) {
            case HEARTBEAT -> new Message.Heartbeat();
            case JOIN -> new Message.Join(in.readInt(), in.readInt(), readMember(in));
            case GATHER -> new Message.Gather(readText(in), readBytes(in));
            case SURVEY -> new Message.Survey(in.readInt());
            case DESCRIBED -> new Message.Described(in.readInt(), in.readInt(), readBytes(in));
            case LEAVE -> new Message.Leave(readCompleted(in), in.readBoolean(), readText(in));
            case REFUSED -> new Message.Refused(readText(in));
            case JOINED -> new Message.Joined(readList(in, MessageCodec::readMember));
            case GATHERED ->
                    new Message.Gathered(readText(in), readList(in, MessageCodec::readBytes));
            case DESCRIBE -> new Message.Describe(in.readInt(), in.readInt());
            case ANSWER -> new Message.Answer(in.readInt(), in.readInt(), readBytes(in));
            case SURVEYED -> new Message.Surveyed(in.readInt());
            case LOST -> new Message.Lost(readLoss(in), in.readLong());
            default -> throw new MalformedMessageException("no message is of kind " + kind);
        };
    }

    private static void write(Member member, DataOutputStream out) throws IOException {
        out.writeInt(member.rank());
        write(member.host(), out);
        write(member.domain(), out);
        out.writeLong(member.pid());
        write(member.memory(), out);
        out.writeInt(member.addresses().size());
        for (InetSocketAddress address : member.addresses()) {
            write(address, out);
        }
    }

    private static Member readMember(DataInputStream in) throws IOException {
        return new Member(
                in.readInt(),
                readText(in),
                readText(in),
                in.readLong(),
                readText(in),
                readList(in, MessageCodec::readAddress));
    }

    private static void write(Loss loss, DataOutputStream out) throws IOException {
        out.writeInt(loss.rank());
        write(loss.host(), out);
        write(loss.reason(), out);
        out.writeBoolean(loss.orderly());
        write(loss.completed(), out);
    }

    private static Loss readLoss(DataInputStream in) throws IOException {
        return new Loss(
                in.readInt(), readText(in), readText(in), in.readBoolean(), readCompleted(in));
    }

    private static void write(Map<Integer, Long> completed, DataOutputStream out)
            throws IOException {
        out.writeInt(completed.size());
        for (Map.Entry<Integer, Long> each : completed.entrySet()) {
            out.writeInt(each.getKey());
            out.writeLong(each.getValue());
        }
    }

    private static Map<Integer, Long> readCompleted(DataInputStream in) throws IOException {
        int count = readLength(in);
        if (count > MAX_PROCESS_SETS) {
            throw new MalformedMessageException("operations of " + count + " process sets");
        }
        Map<Integer, Long> completed = new HashMap<>();
        for (int i = 0; i < count; i++) {
            int processSet = in.readInt();
            if (completed.put(processSet, in.readLong()) != null) {
                throw new MalformedMessageException("process set " + processSet + " comes twice");
            }
        }
        return completed;
    }

    /// An address as its 4 or 16 bytes, or as no bytes and a name for the reader to look up.
    private static void write(InetSocketAddress address, DataOutputStream out) throws IOException {
        InetAddress resolved = address.getAddress();
        write(resolved == null ? new byte[0] : resolved.getAddress(), out);
        if (resolved == null) {
            write(address.getHostString(), out);
        }
        out.writeInt(address.getPort());
    }

    private static InetSocketAddress readAddress(DataInputStream in) throws IOException {
        byte[] bytes = readBytes(in);
        return bytes.length == 0
                ? InetSocketAddress.createUnresolved(readText(in), in.readInt())
                : new InetSocketAddress(InetAddress.getByAddress(bytes), in.readInt());
    }

    private static void write(String text, DataOutputStream out) throws IOException {
        write(text.getBytes(UTF_8), out);
    }

    private static String readText(DataInputStream in) throws IOException {
        return new String(readBytes(in), UTF_8);
    }

    private static void write(byte[] bytes, DataOutputStream out) throws IOException {
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    private static byte[] readBytes(DataInputStream in) throws IOException {
        return in.readNBytes(readLength(in));
    }

    private static <T> List<T> readList(DataInputStream in, Reader<T> reader) throws IOException {
        int count = readLength(in);
        List<T> list = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            list.add(reader.read(in));
        }
        return list;
    }

    /// A length that the remaining bytes can fill: whatever is counted takes a byte at least.
    private static int readLength(DataInputStream in) throws IOException {
        int length = in.readInt();
        if (length < 0 || length > in.available()) {
            throw new MalformedMessageException(
                    "a length of " + length + " where " + in.available() + " bytes are left");
        }
        return length;
    }

    private interface Reader<T> {
        T read(DataInputStream in) throws IOException;
    }
}

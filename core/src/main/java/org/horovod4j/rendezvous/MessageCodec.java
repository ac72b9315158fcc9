package org.horovod4j.rendezvous;

import org.horovod4j.frame.FieldReader;
import org.horovod4j.frame.FieldWriter;
import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.spi.Loss;
import org.horovod4j.spi.Member;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/// Messages as bytes: one line for each kind, both ways.
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
        return write(message).toByteArray();
    }

    /// @throws MalformedMessageException when `bytes` are not exactly one message
    static Message decode(byte[] bytes) throws MalformedMessageException {
        return FieldReader.read(bytes, MessageCodec::read);
    }

    private static FieldWriter write(Message message) {
        return switch (message) {
            case Message.Heartbeat() -> FieldWriter.of(HEARTBEAT);
            case Message.Join(int generation, int size, Member member) ->
                    member(FieldWriter.of(JOIN).int32(generation).int32(size), member);
            case Message.Gather(String topic, byte[] share) ->
                    FieldWriter.of(GATHER).text(topic).bytes(share);
            case Message.Survey(int number) -> FieldWriter.of(SURVEY).int32(number);
            case Message.Described(int asker, int number, byte[] text) ->
                    FieldWriter.of(DESCRIBED).int32(asker).int32(number).bytes(text);
            case Message.Leave(Map<Integer, Long> completed, boolean orderly, String reason) ->
                    completed(FieldWriter.of(LEAVE), completed).flag(orderly).text(reason);
            case Message.Refused(String reason) -> FieldWriter.of(REFUSED).text(reason);
            case Message.Joined(List<Member> members) ->
                    FieldWriter.of(JOINED).list(members, MessageCodec::member);
            case Message.Gathered(String topic, List<byte[]> shares) ->
                    FieldWriter.of(GATHERED).text(topic).list(shares, FieldWriter::bytes);
            case Message.Describe(int asker, int number) ->
                    FieldWriter.of(DESCRIBE).int32(asker).int32(number);
            case Message.Answer(int number, int rank, byte[] text) ->
                    FieldWriter.of(ANSWER).int32(number).int32(rank).bytes(text);
            case Message.Surveyed(int number) -> FieldWriter.of(SURVEYED).int32(number);
            case Message.Lost(Loss loss, long pid) -> loss(FieldWriter.of(LOST), loss).int64(pid);
        };
    }

    private static Message read(FieldReader in) throws MalformedMessageException {
        byte kind = in.octet();
        return switch (kind) {
            case HEARTBEAT -> new Message.Heartbeat();
            case JOIN -> new Message.Join(in.int32(), in.int32(), member(in));
            case GATHER -> new Message.Gather(in.text(), in.bytes());
            case SURVEY -> new Message.Survey(in.int32());
            case DESCRIBED -> new Message.Described(in.int32(), in.int32(), in.bytes());
            case LEAVE -> new Message.Leave(completed(in), in.flag(), in.text());
            case REFUSED -> new Message.Refused(in.text());
            case JOINED -> new Message.Joined(in.list(1, MessageCodec::member));
            case GATHERED -> new Message.Gathered(in.text(), in.list(1, FieldReader::bytes));
            case DESCRIBE -> new Message.Describe(in.int32(), in.int32());
            case ANSWER -> new Message.Answer(in.int32(), in.int32(), in.bytes());
            case SURVEYED -> new Message.Surveyed(in.int32());
            case LOST -> new Message.Lost(loss(in), in.int64());
            default -> throw new MalformedMessageException("no message is of kind " + kind);
        };
    }

    private static FieldWriter member(FieldWriter out, Member member) {
        return out.int32(member.rank())
                .text(member.host())
                .text(member.domain())
                .int64(member.pid())
                .text(member.memory())
                .list(member.addresses(), MessageCodec::address);
    }

    private static Member member(FieldReader in) throws MalformedMessageException {
        return new Member(
                in.int32(),
                in.text(),
                in.text(),
                in.int64(),
                in.text(),
                in.list(1, MessageCodec::address));
    }

    private static FieldWriter loss(FieldWriter out, Loss loss) {
        return completed(
                out.int32(loss.rank()).text(loss.host()).text(loss.reason()).flag(loss.orderly()),
                loss.completed());
    }

    private static Loss loss(FieldReader in) throws MalformedMessageException {
        return new Loss(in.int32(), in.text(), in.text(), in.flag(), completed(in));
    }

    private static FieldWriter completed(FieldWriter out, Map<Integer, Long> completed) {
        return out.list(
                completed.entrySet(),
                (each, entry) -> each.int32(entry.getKey()).int64(entry.getValue()));
    }

    private static Map<Integer, Long> completed(FieldReader in) throws MalformedMessageException {
        List<Completed> all =
                in.list(Completed.BYTES, each -> new Completed(each.int32(), each.int64()));
        if (all.size() > MAX_PROCESS_SETS) {
            throw new MalformedMessageException("operations of " + all.size() + " process sets");
        }
        Map<Integer, Long> completed = new HashMap<>();
        for (Completed each : all) {
            if (completed.put(each.processSet, each.operations) != null) {
                throw new MalformedMessageException(
                        "process set " + each.processSet + " comes twice");
            }
        }
        return completed;
    }

    private record Completed(int processSet, long operations) {
        static final int BYTES = Integer.BYTES + Long.BYTES;
    }

    /// An address as its 4 or 16 bytes, or as no bytes and a name for the reader to look up.
    private static FieldWriter address(FieldWriter out, InetSocketAddress address) {
        InetAddress resolved = address.getAddress();
        return (resolved == null
                        ? out.bytes(new byte[0]).text(address.getHostString())
                        : out.bytes(resolved.getAddress()))
                .int32(address.getPort());
    }

    private static InetSocketAddress address(FieldReader in) throws MalformedMessageException {
        byte[] bytes = in.bytes();
        if (bytes.length == 0) {
            return InetSocketAddress.createUnresolved(in.text(), in.int32());
        }
        try {
            return new InetSocketAddress(InetAddress.getByAddress(bytes), in.int32());
        } catch (UnknownHostException e) {
            throw new MalformedMessageException("an address of " + bytes.length + " bytes");
        }
    }
}

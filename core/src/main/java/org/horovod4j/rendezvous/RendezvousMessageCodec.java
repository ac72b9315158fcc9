package org.horovod4j.rendezvous;

import org.horovod4j.connection.Connection;
import org.horovod4j.frame.FieldReader;
import org.horovod4j.frame.FieldWriter;
import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.spi.RankDeparture;
import org.horovod4j.spi.RankInfo;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/// Rendezvous messages as bytes.
final class RendezvousMessageCodec implements Connection.MessageCodec<RendezvousMessage> {
    static final RendezvousMessageCodec INSTANCE = new RendezvousMessageCodec();

    /// The longest message that a client may send.
    static final int MAX_CLIENT_BYTES = 1 << 20;

    private static final byte JOIN = 1;
    private static final byte ALLGATHER = 2;
    private static final byte SURVEY = 3;
    private static final byte LEAVE = 4;
    private static final byte REFUSED = 5;
    private static final byte JOINED = 6;
    private static final byte ALLGATHER_RESULT = 7;
    private static final byte DESCRIBE = 8;
    private static final byte LOST = 9;
    private static final byte DESCRIBED = 10;
    private static final byte ANSWER = 11;
    private static final byte SURVEYED = 12;
    private static final byte BLOCKED = 13;

    /// More process sets than any program has. The counts of so many fit a message.
    static final int MAX_PROCESS_SETS = 1 << 16;

    private RendezvousMessageCodec() {}

    /// The longest message that the server sends to a job of `size` ranks: the contribution of each
    /// rank of an allgather, and as much again for lengths and names.
    static int maxServerBytes(int size) {
        return (int) Math.min((size + 1L) * MAX_CLIENT_BYTES, Integer.MAX_VALUE - 16L);
    }

    @Override
    public byte[] encode(RendezvousMessage message) {
        return write(message).toByteArray();
    }

    @Override
    public RendezvousMessage decode(byte[] bytes) throws MalformedMessageException {
        return FieldReader.read(bytes, RendezvousMessageCodec::read);
    }

    private static FieldWriter write(RendezvousMessage message) {
        return switch (message) {
            case RendezvousMessage.Join(int generation, int size, RankInfo rankInfo) ->
                    member(FieldWriter.of(JOIN).int32(generation).int32(size), rankInfo);
            case RendezvousMessage.Allgather(String topic, byte[] contribution) ->
                    FieldWriter.of(ALLGATHER).text(topic).bytes(contribution);
            case RendezvousMessage.SurveyRequest(int surveyId) ->
                    FieldWriter.of(SURVEY).int32(surveyId);
            case RendezvousMessage.DescribeReply(int requester, int surveyId, byte[] text) ->
                    FieldWriter.of(DESCRIBED).int32(requester).int32(surveyId).bytes(text);
            case RendezvousMessage.Blocked(int rank, String reason) ->
                    FieldWriter.of(BLOCKED).int32(rank).text(reason);
            case RendezvousMessage.Leave(
                            Map<Integer, Long> completed,
                            boolean orderly,
                            String reason) ->
                    completed(FieldWriter.of(LEAVE), completed).flag(orderly).text(reason);
            case RendezvousMessage.Refused(String reason) -> FieldWriter.of(REFUSED).text(reason);
            case RendezvousMessage.Joined(List<RankInfo> members) ->
                    FieldWriter.of(JOINED).list(members, RendezvousMessageCodec::member);
            case RendezvousMessage.AllgatherResult(String topic, List<byte[]> contributions) ->
                    FieldWriter.of(ALLGATHER_RESULT)
                            .text(topic)
                            .list(contributions, FieldWriter::bytes);
            case RendezvousMessage.DescribeRequest(int requester, int surveyId) ->
                    FieldWriter.of(DESCRIBE).int32(requester).int32(surveyId);
            case RendezvousMessage.SurveyAnswer(int surveyId, int rank, byte[] text) ->
                    FieldWriter.of(ANSWER).int32(surveyId).int32(rank).bytes(text);
            case RendezvousMessage.SurveyComplete(int surveyId) ->
                    FieldWriter.of(SURVEYED).int32(surveyId);
            case RendezvousMessage.Lost(RankDeparture rankDeparture, long pid) ->
                    loss(FieldWriter.of(LOST), rankDeparture).int64(pid);
        };
    }

    private static RendezvousMessage read(FieldReader in) throws MalformedMessageException {
        byte kind = in.octet();
        return switch (kind) {
            case JOIN -> new RendezvousMessage.Join(in.int32(), in.int32(), member(in));
            case ALLGATHER -> new RendezvousMessage.Allgather(in.text(), in.bytes());
            case SURVEY -> new RendezvousMessage.SurveyRequest(in.int32());
            case DESCRIBED ->
                    new RendezvousMessage.DescribeReply(in.int32(), in.int32(), in.bytes());
            case BLOCKED -> new RendezvousMessage.Blocked(in.int32(), in.text());
            case LEAVE -> new RendezvousMessage.Leave(completed(in), in.flag(), in.text());
            case REFUSED -> new RendezvousMessage.Refused(in.text());
            case JOINED -> new RendezvousMessage.Joined(in.list(1, RendezvousMessageCodec::member));
            case ALLGATHER_RESULT ->
                    new RendezvousMessage.AllgatherResult(
                            in.text(), in.list(1, FieldReader::bytes));
            case DESCRIBE -> new RendezvousMessage.DescribeRequest(in.int32(), in.int32());
            case ANSWER -> new RendezvousMessage.SurveyAnswer(in.int32(), in.int32(), in.bytes());
            case SURVEYED -> new RendezvousMessage.SurveyComplete(in.int32());
            case LOST -> new RendezvousMessage.Lost(loss(in), in.int64());
            default -> throw new MalformedMessageException("unknown message kind " + kind);
        };
    }

    private static FieldWriter member(FieldWriter out, RankInfo rankInfo) {
        return out.int32(rankInfo.rank())
                .text(rankInfo.host())
                .text(rankInfo.machine())
                .text(rankInfo.domain())
                .int64(rankInfo.pid())
                .int64(rankInfo.jvm())
                .text(rankInfo.memory())
                .list(rankInfo.addresses(), RendezvousMessageCodec::address);
    }

    private static RankInfo member(FieldReader in) throws MalformedMessageException {
        return new RankInfo(
                in.int32(),
                in.text(),
                in.text(),
                in.text(),
                in.int64(),
                in.int64(),
                in.text(),
                in.list(1, RendezvousMessageCodec::address));
    }

    private static FieldWriter loss(FieldWriter out, RankDeparture rankDeparture) {
        return completed(
                out.int32(rankDeparture.rank())
                        .text(rankDeparture.host())
                        .text(rankDeparture.reason())
                        .flag(rankDeparture.orderly()),
                rankDeparture.completed());
    }

    private static RankDeparture loss(FieldReader in) throws MalformedMessageException {
        return new RankDeparture(in.int32(), in.text(), in.text(), in.flag(), completed(in));
    }

    private static FieldWriter completed(FieldWriter out, Map<Integer, Long> completed) {
        return out.list(
                completed.entrySet(),
                (each, entry) -> each.int32(entry.getKey()).int64(entry.getValue()));
    }

    private static Map<Integer, Long> completed(FieldReader in) throws MalformedMessageException {
        List<CompletedCount> all =
                in.list(
                        CompletedCount.BYTES,
                        each -> new CompletedCount(each.int32(), each.int64()));
        if (all.size() > MAX_PROCESS_SETS) {
            throw new MalformedMessageException("counts of " + all.size() + " process sets");
        }
        Map<Integer, Long> completed = new HashMap<>();
        for (CompletedCount each : all) {
            if (completed.put(each.processSet, each.batches) != null) {
                throw new MalformedMessageException(
                        "process set " + each.processSet + " appears twice");
            }
        }
        return completed;
    }

    private record CompletedCount(int processSet, long batches) {
        static final int BYTES = Integer.BYTES + Long.BYTES;
    }

    /// An address as its 4 or 16 bytes. A name that the reader is to resolve is no bytes, then the
    /// text.
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

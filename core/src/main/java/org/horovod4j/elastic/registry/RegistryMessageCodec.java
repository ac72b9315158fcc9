package org.horovod4j.elastic.registry;

import org.horovod4j.connection.Connection;
import org.horovod4j.frame.FieldReader;
import org.horovod4j.frame.FieldWriter;
import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.security.SecureConnection;

import java.io.IOException;
import java.time.Duration;

/// Registry messages as bytes.
final class RegistryMessageCodec implements Connection.MessageCodec<RegistryMessage> {
    static final RegistryMessageCodec INSTANCE = new RegistryMessageCodec();

    /// Far longer than any message here.
    private static final int MAX_MESSAGE_BYTES = 64 << 10;

    /// Characters of a text that are sent: more is not worth reading, and would not fit a message.
    private static final int MAX_TEXT = 10_000;

    private static final byte READY = 1;
    private static final byte ASSIGNED = 2;
    private static final byte DISMISSED = 3;
    private static final byte HOSTS_UPDATED = 4;
    private static final byte WELCOME = 5;

    private RegistryMessageCodec() {}

    static Connection<RegistryMessage> connection(
            SecureConnection secureConnection, Duration heartbeatTimeout) throws IOException {
        return new Connection<>(secureConnection, INSTANCE, MAX_MESSAGE_BYTES, heartbeatTimeout);
    }

    @Override
    public byte[] encode(RegistryMessage message) {
        return write(message).toByteArray();
    }

    @Override
    public RegistryMessage decode(byte[] bytes) throws MalformedMessageException {
        return FieldReader.read(bytes, RegistryMessageCodec::read);
    }

    private static FieldWriter write(RegistryMessage message) {
        return switch (message) {
            case RegistryMessage.Welcome(boolean trainingStarted) ->
                    FieldWriter.of(WELCOME).flag(trainingStarted);
            case RegistryMessage.Ready(int worker, int generation, String failure) ->
                    FieldWriter.of(READY).int32(worker).int32(generation).text(truncate(failure));
            case RegistryMessage.Assigned(WorkerPlacement placement, long hostsVersion) ->
                    placement(FieldWriter.of(ASSIGNED), placement).int64(hostsVersion);
            case RegistryMessage.Dismissed(String reason) ->
                    FieldWriter.of(DISMISSED).text(truncate(reason));
            case RegistryMessage.HostsUpdated(long hostsVersion) ->
                    FieldWriter.of(HOSTS_UPDATED).int64(hostsVersion);
        };
    }

    private static RegistryMessage read(FieldReader in) throws MalformedMessageException {
        byte kind = in.octet();
        return switch (kind) {
            case WELCOME -> new RegistryMessage.Welcome(in.flag());
            case READY -> new RegistryMessage.Ready(in.int32(), in.int32(), in.text());
            case ASSIGNED -> new RegistryMessage.Assigned(placement(in), in.int64());
            case DISMISSED -> new RegistryMessage.Dismissed(in.text());
            case HOSTS_UPDATED -> new RegistryMessage.HostsUpdated(in.int64());
            default -> throw new MalformedMessageException("unknown message kind " + kind);
        };
    }

    private static FieldWriter placement(FieldWriter out, WorkerPlacement placement) {
        return out.int32(placement.generation())
                .int32(placement.rank())
                .int32(placement.size())
                .int32(placement.localRank())
                .int32(placement.localSize())
                .int32(placement.crossRank())
                .int32(placement.crossSize())
                .flag(placement.sync());
    }

    private static WorkerPlacement placement(FieldReader in) throws MalformedMessageException {
        return new WorkerPlacement(
                in.int32(),
                in.int32(),
                in.int32(),
                in.int32(),
                in.int32(),
                in.int32(),
                in.int32(),
                in.flag());
    }

    private static String truncate(String text) {
        return text.substring(0, Math.min(text.length(), MAX_TEXT));
    }
}

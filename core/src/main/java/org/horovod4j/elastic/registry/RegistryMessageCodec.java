package org.horovod4j.elastic.registry;

import org.horovod4j.frame.FieldReader;
import org.horovod4j.frame.FieldWriter;
import org.horovod4j.frame.Frame;
import org.horovod4j.frame.MalformedMessageException;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;

/// Words as frames: one line for each kind, both ways.
final class RegistryMessageCodec {
    /// Far above what a reason in words takes, and little enough to be kept for a stranger.
    static final int MAX_FRAME = 64 << 10;

    /// Characters of a text that are passed on: it is there to be read, and must fit a frame.
    private static final int MAX_TEXT = 10_000;

    private static final byte HEARTBEAT = 0;
    private static final byte READY = 1;
    private static final byte ASSIGNED = 2;
    private static final byte DISMISSED = 3;
    private static final byte HOSTS_UPDATED = 4;
    private static final byte WELCOME = 5;

    private RegistryMessageCodec() {}

    /// Writes without a flush.
    static void write(RegistryMessage registryMessage, DataOutputStream out) throws IOException {
        Frame.write(encode(registryMessage).toByteArray(), out);
    }

    /// The next word.
    ///
    /// @throws MalformedMessageException when what comes is not a word
    /// @throws EOFException when the other end has closed
    static RegistryMessage read(DataInputStream in) throws IOException {
        return FieldReader.read(Frame.read(in, MAX_FRAME), RegistryMessageCodec::decode);
    }

    private static FieldWriter encode(RegistryMessage registryMessage) {
        return switch (registryMessage) {
            case RegistryMessage.Heartbeat() -> FieldWriter.of(HEARTBEAT);
            case RegistryMessage.Welcome(boolean hasBegun) ->
                    FieldWriter.of(WELCOME).int32(hasBegun ? 1 : 0);
            case RegistryMessage.Ready(int worker, int generation, String why) ->
                    FieldWriter.of(READY).int32(worker).int32(generation).text(truncate(why));
            case RegistryMessage.Assigned(WorkerPlacement workerPlacement, long stamp) ->
                    placement(FieldWriter.of(ASSIGNED), workerPlacement).int64(stamp);
            case RegistryMessage.Dismissed(String reason) ->
                    FieldWriter.of(DISMISSED).text(truncate(reason));
            case RegistryMessage.HostsUpdated(long stamp) ->
                    FieldWriter.of(HOSTS_UPDATED).int64(stamp);
        };
    }

    private static RegistryMessage decode(FieldReader in) throws MalformedMessageException {
        byte kind = in.octet();
        return switch (kind) {
            case HEARTBEAT -> new RegistryMessage.Heartbeat();
            case WELCOME -> new RegistryMessage.Welcome(in.int32() == 1);
            case READY -> new RegistryMessage.Ready(in.int32(), in.int32(), in.text());
            case ASSIGNED -> new RegistryMessage.Assigned(placement(in), in.int64());
            case DISMISSED -> new RegistryMessage.Dismissed(in.text());
            case HOSTS_UPDATED -> new RegistryMessage.HostsUpdated(in.int64());
            default -> throw new MalformedMessageException("no word is of kind " + kind);
        };
    }

    private static FieldWriter placement(FieldWriter out, WorkerPlacement workerPlacement) {
        return out.int32(workerPlacement.generation())
                .int32(workerPlacement.rank())
                .int32(workerPlacement.size())
                .int32(workerPlacement.localRank())
                .int32(workerPlacement.localSize())
                .int32(workerPlacement.crossRank())
                .int32(workerPlacement.crossSize())
                .flag(workerPlacement.sync());
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

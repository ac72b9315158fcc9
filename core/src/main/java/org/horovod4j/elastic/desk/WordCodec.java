package org.horovod4j.elastic.desk;

import org.horovod4j.frame.FieldReader;
import org.horovod4j.frame.FieldWriter;
import org.horovod4j.frame.Frame;
import org.horovod4j.frame.MalformedMessageException;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;

/// Words as frames: one line for each kind, both ways.
final class WordCodec {
    /// Far above what a reason in words takes, and little enough to be kept for a stranger.
    static final int MAX_FRAME = 64 << 10;

    /// Characters of a text that are passed on: it is there to be read, and must fit a frame.
    private static final int MAX_TEXT = 10_000;

    private static final byte ALIVE = 0;
    private static final byte READY = 1;
    private static final byte ASSIGNED = 2;
    private static final byte DISMISSED = 3;
    private static final byte HOSTS_UPDATED = 4;
    private static final byte WELCOME = 5;

    private WordCodec() {}

    /// Writes without a flush.
    static void write(Word word, DataOutputStream out) throws IOException {
        Frame.write(fields(word).toByteArray(), out);
    }

    /// The next word.
    ///
    /// @throws MalformedMessageException when what comes is not a word
    /// @throws EOFException when the other end has closed
    static Word read(DataInputStream in) throws IOException {
        return FieldReader.read(Frame.read(in, MAX_FRAME), WordCodec::word);
    }

    private static FieldWriter fields(Word word) {
        return switch (word) {
            case Word.Alive() -> FieldWriter.of(ALIVE);
            case Word.Welcome(boolean hasBegun) -> FieldWriter.of(WELCOME).int32(hasBegun ? 1 : 0);
            case Word.Ready(int worker, int generation, String why) ->
                    FieldWriter.of(READY).int32(worker).int32(generation).text(brief(why));
            case Word.Assigned(Place place, long stamp) ->
                    place(FieldWriter.of(ASSIGNED), place).int64(stamp);
            case Word.Dismissed(String reason) -> FieldWriter.of(DISMISSED).text(brief(reason));
            case Word.HostsUpdated(long stamp) -> FieldWriter.of(HOSTS_UPDATED).int64(stamp);
        };
    }

    private static Word word(FieldReader in) throws MalformedMessageException {
        byte kind = in.octet();
        return switch (kind) {
            case ALIVE -> new Word.Alive();
            case WELCOME -> new Word.Welcome(in.int32() == 1);
            case READY -> new Word.Ready(in.int32(), in.int32(), in.text());
            case ASSIGNED -> new Word.Assigned(place(in), in.int64());
            case DISMISSED -> new Word.Dismissed(in.text());
            case HOSTS_UPDATED -> new Word.HostsUpdated(in.int64());
            default -> throw new MalformedMessageException("no word is of kind " + kind);
        };
    }

    private static FieldWriter place(FieldWriter out, Place place) {
        return out.int32(place.generation())
                .int32(place.rank())
                .int32(place.size())
                .int32(place.localRank())
                .int32(place.localSize())
                .int32(place.crossRank())
                .int32(place.crossSize())
                .flag(place.sync());
    }

    private static Place place(FieldReader in) throws MalformedMessageException {
        return new Place(
                in.int32(),
                in.int32(),
                in.int32(),
                in.int32(),
                in.int32(),
                in.int32(),
                in.int32(),
                in.flag());
    }

    private static String brief(String text) {
        return text.substring(0, Math.min(text.length(), MAX_TEXT));
    }
}

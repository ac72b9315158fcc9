package org.horovod4j.launcher.remote;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.launcher.process.Program;
import org.horovod4j.launcher.process.Signal;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/// Messages as bytes: one byte for the kind, then the fields in order, big-endian.
///
/// Text, byte arrays and lists begin with their length, which is held against the bytes that are
/// there before anything is allocated for it.
final class MessageCodec {
    private static final byte HEARTBEAT = 0;
    private static final byte OPEN = 1;
    private static final byte PUT = 2;
    private static final byte FIND = 3;
    private static final byte START = 4;
    private static final byte CREDIT = 5;
    private static final byte SIGNAL = 6;
    private static final byte KILL = 7;
    private static final byte SWEEP = 8;
    private static final byte READY = 9;
    private static final byte FOUND = 10;
    private static final byte STARTED = 11;
    private static final byte NOT_STARTED = 12;
    private static final byte OUTPUT = 13;
    private static final byte EXITED = 14;
    private static final byte SWEPT = 15;
    private static final byte FAILED = 16;
    private static final byte MISSING = 17;

    private MessageCodec() {}

    static byte[] encode(Message message) {
        try {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            DataOutputStream out = new DataOutputStream(bytes);
            switch (message) {
                case Message.Heartbeat() -> out.writeByte(HEARTBEAT);
                case Message.Order order -> write(order, out);
                case Message.News news -> write(news, out);
            }
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
        } catch (IOException e) {
            throw new MalformedMessageException(String.valueOf(e.getMessage()));
        }
    }

    private static void write(Message.Order order, DataOutputStream out) throws IOException {
        switch (order) {
            case Message.Heartbeat() -> out.writeByte(HEARTBEAT);
            case Message.Open(String mark, Duration timeout, Map<String, String> environment) -> {
                out.writeByte(OPEN);
                write(mark, out);
                out.writeLong(timeout.toMillis());
                write(environment, out);
            }
            case Message.Put(String path, boolean executable, byte[] bytes) -> {
                out.writeByte(PUT);
                write(path, out);
                out.writeBoolean(executable);
                write(bytes, out);
            }
            case Message.Find(List<String> words) -> {
                out.writeByte(FIND);
                write(words, out);
            }
            case Message.Start(int process, List<String> words, Map<String, String> variables) -> {
                out.writeByte(START);
                out.writeInt(process);
                write(words, out);
                write(variables, out);
            }
            case Message.Credit(int process, Message.Stream stream, int bytes) -> {
                out.writeByte(CREDIT);
                out.writeInt(process);
                out.writeByte(stream.ordinal());
                out.writeInt(bytes);
            }
            case Message.SignalAll(Signal signal) -> {
                out.writeByte(SIGNAL);
                out.writeByte(signal.ordinal());
            }
            case Message.Kill(int process) -> {
                out.writeByte(KILL);
                out.writeInt(process);
            }
            case Message.Sweep() -> out.writeByte(SWEEP);
        }
    }

    private static void write(Message.News news, DataOutputStream out) throws IOException {
        switch (news) {
            case Message.Heartbeat() -> out.writeByte(HEARTBEAT);
            case Message.Ready() -> out.writeByte(READY);
            case Message.Found(Program(List<String> command, String unwantedLine, var _)) -> {
                out.writeByte(FOUND);
                write(command, out);
                write(unwantedLine, out);
            }
            case Message.Missing(String reason) -> {
                out.writeByte(MISSING);
                write(reason, out);
            }
            case Message.Started(int process, long pid) -> {
                out.writeByte(STARTED);
                out.writeInt(process);
                out.writeLong(pid);
            }
            case Message.NotStarted(int process, String reason) -> {
                out.writeByte(NOT_STARTED);
                out.writeInt(process);
                write(reason, out);
            }
            case Message.Output(int process, Message.Stream stream, byte[] bytes) -> {
                out.writeByte(OUTPUT);
                out.writeInt(process);
                out.writeByte(stream.ordinal());
                write(bytes, out);
            }
            case Message.Exited(int process, int status) -> {
                out.writeByte(EXITED);
                out.writeInt(process);
                out.writeInt(status);
            }
            case Message.Swept(List<String> left) -> {
                out.writeByte(SWEPT);
                write(left, out);
            }
            case Message.Failed(String reason) -> {
                out.writeByte(FAILED);
                write(reason, out);
            }
        }
    }

    private static Message read(DataInputStream in) throws IOException {
        byte kind = in.readByte();
        return switch (kind) {
            case HEARTBEAT -> new Message.Heartbeat();
            case OPEN ->
                    new Message.Open(text(in), Duration.ofMillis(in.readLong()), variables(in));
            case PUT -> new Message.Put(text(in), in.readBoolean(), bytes(in));
            case FIND -> new Message.Find(texts(in));
            case START -> new Message.Start(in.readInt(), texts(in), variables(in));
            case CREDIT ->
                    new Message.Credit(
                            in.readInt(), constant(Message.Stream.values(), in), in.readInt());
            case SIGNAL -> new Message.SignalAll(constant(Signal.values(), in));
            case KILL -> new Message.Kill(in.readInt());
            case SWEEP -> new Message.Sweep();
            case READY -> new Message.Ready();
            case FOUND -> new Message.Found(new Program(texts(in), text(in)));
            case MISSING -> new Message.Missing(text(in));
            case STARTED -> new Message.Started(in.readInt(), in.readLong());
            case NOT_STARTED -> new Message.NotStarted(in.readInt(), text(in));
            case OUTPUT ->
                    new Message.Output(
                            in.readInt(), constant(Message.Stream.values(), in), bytes(in));
            case EXITED -> new Message.Exited(in.readInt(), in.readInt());
            case SWEPT -> new Message.Swept(texts(in));
            case FAILED -> new Message.Failed(text(in));
            default -> throw new MalformedMessageException("no message is of kind " + kind);
        };
    }

    private static void write(String text, DataOutputStream out) throws IOException {
        write(text.getBytes(UTF_8), out);
    }

    private static void write(byte[] bytes, DataOutputStream out) throws IOException {
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    private static void write(List<String> texts, DataOutputStream out) throws IOException {
        out.writeInt(texts.size());
        for (String text : texts) {
            write(text, out);
        }
    }

    private static void write(Map<String, String> variables, DataOutputStream out)
            throws IOException {
        out.writeInt(variables.size());
        for (Map.Entry<String, String> variable : variables.entrySet()) {
            write(variable.getKey(), out);
            write(variable.getValue(), out);
        }
    }

    private static String text(DataInputStream in) throws IOException {
        return new String(bytes(in), UTF_8);
    }

    private static byte[] bytes(DataInputStream in) throws IOException {
        return in.readNBytes(length(in, 1));
    }

    private static List<String> texts(DataInputStream in) throws IOException {
        List<String> texts = new ArrayList<>();
        for (int left = length(in, Integer.BYTES); left > 0; left--) {
            texts.add(text(in));
        }
        return List.copyOf(texts);
    }

    private static Map<String, String> variables(DataInputStream in) throws IOException {
        Map<String, String> variables = new LinkedHashMap<>();
        for (int left = length(in, 2 * Integer.BYTES); left > 0; left--) {
            variables.put(text(in), text(in));
        }
        return variables;
    }

    /// A number of items, each of so many bytes at least.
    private static int length(DataInputStream in, int eachAtLeast) throws IOException {
        int length = in.readInt();
        if (length < 0 || length > in.available() / eachAtLeast) {
            throw new MalformedMessageException(
                    "%d items in %d bytes".formatted(length, in.available()));
        }
        return length;
    }

    private static <T> T constant(T[] all, DataInputStream in) throws IOException {
        int ordinal = in.readUnsignedByte();
        if (ordinal >= all.length) {
            throw new MalformedMessageException("constant " + ordinal + " of " + all.length);
        }
        return all[ordinal];
    }
}

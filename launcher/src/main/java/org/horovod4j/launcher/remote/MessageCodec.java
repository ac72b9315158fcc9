package org.horovod4j.launcher.remote;

import org.horovod4j.frame.FieldReader;
import org.horovod4j.frame.FieldWriter;
import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.launcher.process.Program;
import org.horovod4j.launcher.process.Signal;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/// Messages as bytes: one line for each kind, both ways.
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
    private static final byte DRAIN = 18;
    private static final byte FORGET = 19;

    private MessageCodec() {}

    static byte[] encode(Message message) {
        return switch (message) {
            case Message.Heartbeat() -> FieldWriter.of(HEARTBEAT).toByteArray();
            case Message.Order order -> write(order).toByteArray();
            case Message.News news -> write(news).toByteArray();
        };
    }

    /// @throws MalformedMessageException when `bytes` are not exactly one message
    static Message decode(byte[] bytes) throws MalformedMessageException {
        return FieldReader.read(bytes, MessageCodec::read);
    }

    private static FieldWriter write(Message.Order order) {
        return switch (order) {
            case Message.Heartbeat() -> FieldWriter.of(HEARTBEAT);
            case Message.Open(String mark, Duration timeout, Map<String, String> environment) ->
                    variables(
                            FieldWriter.of(OPEN).text(mark).int64(timeout.toMillis()), environment);
            case Message.Put(String path, boolean executable, byte[] bytes) ->
                    FieldWriter.of(PUT).text(path).flag(executable).bytes(bytes);
            case Message.Find(List<String> words) ->
                    FieldWriter.of(FIND).list(words, FieldWriter::text);
            case Message.Start(int process, List<String> words, Map<String, String> variables) ->
                    variables(
                            FieldWriter.of(START).int32(process).list(words, FieldWriter::text),
                            variables);
            case Message.Credit(int process, Message.Stream stream, int bytes) ->
                    FieldWriter.of(CREDIT).int32(process).constant(stream).int32(bytes);
            case Message.SignalAll(Signal signal) -> FieldWriter.of(SIGNAL).constant(signal);
            case Message.Kill(int process) -> FieldWriter.of(KILL).int32(process);
            case Message.Drain(int process) -> FieldWriter.of(DRAIN).int32(process);
            case Message.Forget(int process) -> FieldWriter.of(FORGET).int32(process);
            case Message.Sweep() -> FieldWriter.of(SWEEP);
        };
    }

    private static FieldWriter write(Message.News news) {
        return switch (news) {
            case Message.Heartbeat() -> FieldWriter.of(HEARTBEAT);
            case Message.Ready() -> FieldWriter.of(READY);
            case Message.Found(Program(List<String> command, String unwantedLine, var _)) ->
                    FieldWriter.of(FOUND).list(command, FieldWriter::text).text(unwantedLine);
            case Message.Missing(String reason) -> FieldWriter.of(MISSING).text(reason);
            case Message.Started(int process, long pid) ->
                    FieldWriter.of(STARTED).int32(process).int64(pid);
            case Message.NotStarted(int process, String reason) ->
                    FieldWriter.of(NOT_STARTED).int32(process).text(reason);
            case Message.Output(int process, Message.Stream stream, byte[] bytes) ->
                    FieldWriter.of(OUTPUT).int32(process).constant(stream).bytes(bytes);
            case Message.Exited(int process, int status) ->
                    FieldWriter.of(EXITED).int32(process).int32(status);
            case Message.Swept(List<String> left) ->
                    FieldWriter.of(SWEPT).list(left, FieldWriter::text);
            case Message.Failed(String reason) -> FieldWriter.of(FAILED).text(reason);
        };
    }

    private static Message read(FieldReader in) throws MalformedMessageException {
        byte kind = in.octet();
        return switch (kind) {
            case HEARTBEAT -> new Message.Heartbeat();
            case OPEN -> new Message.Open(in.text(), Duration.ofMillis(in.int64()), variables(in));
            case PUT -> new Message.Put(in.text(), in.flag(), in.bytes());
            case FIND -> new Message.Find(texts(in));
            case START -> new Message.Start(in.int32(), texts(in), variables(in));
            case CREDIT ->
                    new Message.Credit(
                            in.int32(), in.constant(Message.Stream.values()), in.int32());
            case SIGNAL -> new Message.SignalAll(in.constant(Signal.values()));
            case KILL -> new Message.Kill(in.int32());
            case DRAIN -> new Message.Drain(in.int32());
            case FORGET -> new Message.Forget(in.int32());
            case SWEEP -> new Message.Sweep();
            case READY -> new Message.Ready();
            case FOUND -> new Message.Found(new Program(texts(in), in.text()));
            case MISSING -> new Message.Missing(in.text());
            case STARTED -> new Message.Started(in.int32(), in.int64());
            case NOT_STARTED -> new Message.NotStarted(in.int32(), in.text());
            case OUTPUT ->
                    new Message.Output(
                            in.int32(), in.constant(Message.Stream.values()), in.bytes());
            case EXITED -> new Message.Exited(in.int32(), in.int32());
            case SWEPT -> new Message.Swept(texts(in));
            case FAILED -> new Message.Failed(in.text());
            default -> throw new MalformedMessageException("no message is of kind " + kind);
        };
    }

    private static List<String> texts(FieldReader in) throws MalformedMessageException {
        return in.list(Integer.BYTES, FieldReader::text);
    }

    private static FieldWriter variables(FieldWriter out, Map<String, String> variables) {
        return out.list(
                variables.entrySet(),
                (each, variable) -> each.text(variable.getKey()).text(variable.getValue()));
    }

    private static Map<String, String> variables(FieldReader in) throws MalformedMessageException {
        Map<String, String> variables = new LinkedHashMap<>();
        for (Map.Entry<String, String> variable :
                in.list(2 * Integer.BYTES, each -> Map.entry(each.text(), each.text()))) {
            variables.put(variable.getKey(), variable.getValue());
        }
        return variables;
    }
}

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

/// Agent messages as bytes.
final class AgentMessageCodec {
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

    private AgentMessageCodec() {}

    static byte[] encode(AgentMessage agentMessage) {
        return switch (agentMessage) {
            case AgentMessage.Heartbeat() -> FieldWriter.of(HEARTBEAT).toByteArray();
            case AgentMessage.FromLauncher fromLauncher -> write(fromLauncher).toByteArray();
            case AgentMessage.FromAgent fromAgent -> write(fromAgent).toByteArray();
        };
    }

    /// @throws MalformedMessageException when `bytes` are not exactly one message
    static AgentMessage decode(byte[] bytes) throws MalformedMessageException {
        return FieldReader.read(bytes, AgentMessageCodec::read);
    }

    private static FieldWriter write(AgentMessage.FromLauncher fromLauncher) {
        return switch (fromLauncher) {
            case AgentMessage.Heartbeat() -> FieldWriter.of(HEARTBEAT);
            case AgentMessage.Open(
                            String mark,
                            Duration timeout,
                            Map<String, String> environment) ->
                    variables(
                            FieldWriter.of(OPEN).text(mark).int64(timeout.toMillis()), environment);
            case AgentMessage.WriteFile(String path, boolean executable, byte[] bytes) ->
                    FieldWriter.of(PUT).text(path).flag(executable).bytes(bytes);
            case AgentMessage.FindProgram(List<String> words) ->
                    FieldWriter.of(FIND).list(words, FieldWriter::text);
            case AgentMessage.Start(
                            int process,
                            List<String> words,
                            Map<String, String> variables) ->
                    variables(
                            FieldWriter.of(START).int32(process).list(words, FieldWriter::text),
                            variables);
            case AgentMessage.Credit(
                            int process,
                            AgentMessage.StandardStream standardStream,
                            int bytes) ->
                    FieldWriter.of(CREDIT).int32(process).constant(standardStream).int32(bytes);
            case AgentMessage.SignalAll(Signal signal) -> FieldWriter.of(SIGNAL).constant(signal);
            case AgentMessage.Kill(int process) -> FieldWriter.of(KILL).int32(process);
            case AgentMessage.Drain(int process) -> FieldWriter.of(DRAIN).int32(process);
            case AgentMessage.Forget(int process) -> FieldWriter.of(FORGET).int32(process);
            case AgentMessage.Sweep() -> FieldWriter.of(SWEEP);
        };
    }

    private static FieldWriter write(AgentMessage.FromAgent fromAgent) {
        return switch (fromAgent) {
            case AgentMessage.Heartbeat() -> FieldWriter.of(HEARTBEAT);
            case AgentMessage.Ready() -> FieldWriter.of(READY);
            case AgentMessage.ProgramFound(
                            Program(List<String> command, String unwantedLine, var _)) ->
                    FieldWriter.of(FOUND).list(command, FieldWriter::text).text(unwantedLine);
            case AgentMessage.ProgramMissing(String reason) -> FieldWriter.of(MISSING).text(reason);
            case AgentMessage.Started(int process, long pid) ->
                    FieldWriter.of(STARTED).int32(process).int64(pid);
            case AgentMessage.NotStarted(int process, String reason) ->
                    FieldWriter.of(NOT_STARTED).int32(process).text(reason);
            case AgentMessage.Output(
                            int process,
                            AgentMessage.StandardStream standardStream,
                            byte[] bytes) ->
                    FieldWriter.of(OUTPUT).int32(process).constant(standardStream).bytes(bytes);
            case AgentMessage.Exited(int process, int status) ->
                    FieldWriter.of(EXITED).int32(process).int32(status);
            case AgentMessage.Swept(List<String> left) ->
                    FieldWriter.of(SWEPT).list(left, FieldWriter::text);
            case AgentMessage.Failed(String reason) -> FieldWriter.of(FAILED).text(reason);
        };
    }

    private static AgentMessage read(FieldReader in) throws MalformedMessageException {
        byte kind = in.octet();
        return switch (kind) {
            case HEARTBEAT -> new AgentMessage.Heartbeat();
            case OPEN ->
                    new AgentMessage.Open(in.text(), Duration.ofMillis(in.int64()), variables(in));
            case PUT -> new AgentMessage.WriteFile(in.text(), in.flag(), in.bytes());
            case FIND -> new AgentMessage.FindProgram(texts(in));
            case START -> new AgentMessage.Start(in.int32(), texts(in), variables(in));
            case CREDIT ->
                    new AgentMessage.Credit(
                            in.int32(),
                            in.constant(AgentMessage.StandardStream.values()),
                            in.int32());
            case SIGNAL -> new AgentMessage.SignalAll(in.constant(Signal.values()));
            case KILL -> new AgentMessage.Kill(in.int32());
            case DRAIN -> new AgentMessage.Drain(in.int32());
            case FORGET -> new AgentMessage.Forget(in.int32());
            case SWEEP -> new AgentMessage.Sweep();
            case READY -> new AgentMessage.Ready();
            case FOUND -> new AgentMessage.ProgramFound(new Program(texts(in), in.text()));
            case MISSING -> new AgentMessage.ProgramMissing(in.text());
            case STARTED -> new AgentMessage.Started(in.int32(), in.int64());
            case NOT_STARTED -> new AgentMessage.NotStarted(in.int32(), in.text());
            case OUTPUT ->
                    new AgentMessage.Output(
                            in.int32(),
                            in.constant(AgentMessage.StandardStream.values()),
                            in.bytes());
            case EXITED -> new AgentMessage.Exited(in.int32(), in.int32());
            case SWEPT -> new AgentMessage.Swept(texts(in));
            case FAILED -> new AgentMessage.Failed(in.text());
            default -> throw new MalformedMessageException("unknown message kind " + kind);
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

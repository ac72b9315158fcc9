package org.horovod4j.launcher.remote;

import org.horovod4j.frame.FieldReader;
import org.horovod4j.frame.FieldWriter;
import org.horovod4j.frame.MalformedMessageException;

import java.lang.reflect.RecordComponent;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/// Agent messages as bytes: the number of the record among all messages, then its components.
///
/// Both ends run the same classes, so they number the messages alike.
final class AgentMessageCodec {
    private static final List<Class<?>> KINDS =
            Stream.of(AgentMessage.FromLauncher.class, AgentMessage.FromAgent.class)
                    .<Class<?>>flatMap(sender -> Stream.of(sender.getPermittedSubclasses()))
                    .distinct()
                    .toList();

    private AgentMessageCodec() {}

    static byte[] encode(AgentMessage agentMessage) {
        Class<?> kind = agentMessage.getClass();
        FieldWriter out = FieldWriter.of((byte) KINDS.indexOf(kind));
        try {
            for (RecordComponent component : kind.getRecordComponents()) {
                write(out, component.getAccessor().invoke(agentMessage));
            }
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("cannot encode " + agentMessage, e);
        }
        return out.toByteArray();
    }

    private static void write(FieldWriter out, Object value) {
        switch (value) {
            case Integer number -> out.int32(number);
            case Long number -> out.int64(number);
            case Boolean flag -> out.flag(flag);
            case String text -> out.text(text);
            case byte[] bytes -> out.bytes(bytes);
            case Enum<?> constant -> out.constant(constant);
            case Duration duration -> out.int64(duration.toMillis());
            case List<?> list -> out.list(list, AgentMessageCodec::write);
            case Map<?, ?> map -> out.list(map.entrySet(), AgentMessageCodec::write);
            case Map.Entry<?, ?> entry -> {
                write(out, entry.getKey());
                write(out, entry.getValue());
            }
            default -> throw new IllegalStateException("no encoding of " + value.getClass());
        }
    }

    /// @throws MalformedMessageException when `bytes` are not exactly one message
    static AgentMessage decode(byte[] bytes) throws MalformedMessageException {
        return FieldReader.read(bytes, AgentMessageCodec::read);
    }

    private static AgentMessage read(FieldReader in) throws MalformedMessageException {
        Class<?> kind = in.constant(KINDS.toArray(Class<?>[]::new));
        RecordComponent[] components = kind.getRecordComponents();
        Object[] values = new Object[components.length];
        for (int i = 0; i < values.length; i++) {
            values[i] = read(components[i].getType(), in);
        }
        try {
            return (AgentMessage) kind.getDeclaredConstructors()[0].newInstance(values);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("cannot decode a message of " + kind, e);
        }
    }

    /// Lists are lists of text, and maps are from text to text.
    private static Object read(Class<?> type, FieldReader in) throws MalformedMessageException {
        return switch (type.getSimpleName()) {
            case "int" -> in.int32();
            case "long" -> in.int64();
            case "boolean" -> in.flag();
            case "String" -> in.text();
            case "byte[]" -> in.bytes();
            case "Duration" -> Duration.ofMillis(in.int64());
            case "List" -> in.list(Integer.BYTES, FieldReader::text);
            case "Map" -> readMap(in);
            default -> in.constant(type.getEnumConstants());
        };
    }

    private static Map<String, String> readMap(FieldReader in) throws MalformedMessageException {
        Map<String, String> map = new LinkedHashMap<>();
        in.list(2 * Integer.BYTES, each -> Map.entry(each.text(), each.text()))
                .forEach(entry -> map.put(entry.getKey(), entry.getValue()));
        return map;
    }
}

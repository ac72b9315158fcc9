package org.horovod4j.launcher.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.launcher.process.Program;
import org.horovod4j.launcher.process.Signal;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

class MessageCodecTest {
    static Stream<Message> messages() {
        return Stream.of(
                new Message.Heartbeat(),
                new Message.Open("NAME=value", Duration.ofMillis(1500), Map.of("A", "ü", "B", "")),
                new Message.Put("copies/0/app.jar", true, new byte[] {1, 2, 3}),
                new Message.Find(List.of("java", "-cp", "", "Trän")),
                new Message.Start(7, List.of("sh"), Map.of("HOROVOD_RANK", "7")),
                new Message.Credit(7, Message.Stream.ERR, 65536),
                new Message.SignalAll(Signal.TERM),
                new Message.Kill(3),
                new Message.Drain(3),
                new Message.Forget(3),
                new Message.Sweep(),
                new Message.Ready(),
                new Message.Found(new Program(List.of("sh", "-c", "true"), "a line")),
                new Message.Missing("not there"),
                new Message.Started(7, 1L << 40),
                new Message.NotStarted(7, "no memory"),
                new Message.Output(7, Message.Stream.OUT, new byte[] {0, -1, 10}),
                new Message.Output(7, Message.Stream.ERR, new byte[0]),
                new Message.Exited(7, 137),
                new Message.Swept(List.of("12 sleep 1000")),
                new Message.Failed("no room"));
    }

    @ParameterizedTest
    @MethodSource("messages")
    void aMessageSurvivesTheWay(Message message) throws Exception {
        assertThat(MessageCodec.decode(MessageCodec.encode(message)))
                .usingRecursiveComparison()
                .isEqualTo(message);
    }

    @ParameterizedTest
    @MethodSource("messages")
    void aMessageCutShortIsNoMessage(Message message) {
        byte[] bytes = MessageCodec.encode(message);
        for (int length = 0; length < bytes.length; length++) {
            byte[] cut = Arrays.copyOf(bytes, length);
            assertThatThrownBy(() -> MessageCodec.decode(cut))
                    .isInstanceOf(MalformedMessageException.class);
        }
        byte[] longer = Arrays.copyOf(bytes, bytes.length + 1);
        assertThatThrownBy(() -> MessageCodec.decode(longer)).hasMessageContaining("too many");
    }

    @ParameterizedTest
    @ValueSource(strings = {"ff", "067f", "05000000077f00000001", "037fffffff", "03ffffffff"})
    void nonsenseIsRefusedWithoutMemoryForIt(String hex) {
        assertThatThrownBy(() -> MessageCodec.decode(HexFormat.of().parseHex(hex)))
                .isInstanceOf(MalformedMessageException.class);
    }
}

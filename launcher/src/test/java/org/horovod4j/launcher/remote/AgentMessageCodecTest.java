package org.horovod4j.launcher.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.launcher.process.Signal;
import org.horovod4j.testsupport.ByteFuzzer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

class AgentMessageCodecTest {
    static Stream<AgentMessage> messages() {
        return Stream.of(
                new AgentMessage.Heartbeat(),
                new AgentMessage.Open(
                        "NAME=value", Duration.ofMillis(1500), Map.of("A", "ü", "B", "")),
                new AgentMessage.WriteFile("copies/0/app.jar", true, new byte[] {1, 2, 3}),
                new AgentMessage.FindProgram(List.of("java", "-cp", "", "Trän")),
                new AgentMessage.Start(7, List.of("sh"), Map.of("HOROVOD_RANK", "7")),
                new AgentMessage.Credit(7, AgentMessage.StandardStream.ERR, 65536),
                new AgentMessage.SignalAll(Signal.TERM),
                new AgentMessage.Kill(3),
                new AgentMessage.Drain(3),
                new AgentMessage.Forget(3),
                new AgentMessage.Sweep(),
                new AgentMessage.Ready("machine", 64, 8, "25.0.1"),
                new AgentMessage.ProgramFound(
                        List.of("sh", "-c", "true"), "a line", List.of("a.jar")),
                new AgentMessage.ProgramMissing("not there"),
                new AgentMessage.Started(7, 1L << 40),
                new AgentMessage.NotStarted(7, "no memory"),
                new AgentMessage.Output(7, AgentMessage.StandardStream.OUT, new byte[] {0, -1, 10}),
                new AgentMessage.Output(7, AgentMessage.StandardStream.ERR, new byte[0]),
                new AgentMessage.Exited(7, 137),
                new AgentMessage.Swept(List.of("12 sleep 1000")),
                new AgentMessage.Failed("no room"));
    }

    @ParameterizedTest
    @MethodSource("messages")
    void encodeThenDecodeIsIdentity(AgentMessage agentMessage) throws Exception {
        assertThat(AgentMessageCodec.decode(AgentMessageCodec.encode(agentMessage)))
                .usingRecursiveComparison()
                .isEqualTo(agentMessage);
    }

    @ParameterizedTest
    @ValueSource(strings = {"ff", "067f", "05000000077f00000001", "037fffffff", "03ffffffff"})
    void malformedMessageIsRejectedWithoutLargeAllocation(String hex) {
        assertThatThrownBy(() -> AgentMessageCodec.decode(HexFormat.of().parseHex(hex)))
                .isInstanceOf(MalformedMessageException.class);
    }

    @Test
    void bytesOfAnotherLengthAreRefused() {
        fuzzer().runOtherLengths();
    }

    @Test
    void corruptedBytesThrowOnlyMalformedMessage() {
        assertThat(fuzzer().run(ByteFuzzer.SHORT)).isPositive();
    }

    @Test
    @Tag("slow")
    void manyCorruptedBytesAreDecodedOrRefused() {
        assertThat(fuzzer().run(ByteFuzzer.LONG)).isPositive();
    }

    private static ByteFuzzer fuzzer() {
        return new ByteFuzzer(
                "AgentMessageCodec",
                messages().map(AgentMessageCodec::encode).toList(),
                AgentMessageCodec::decode,
                MalformedMessageException.class);
    }
}

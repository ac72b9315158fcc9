package org.horovod4j.launcher.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.FileInputStream;
import java.io.IOException;
import java.nio.channels.Channels;
import java.nio.channels.Pipe;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/// An agent with real processes. The test acts as its launcher.
class AgentTest {
    @TempDir Path folder;

    private AgentConnection launcher;
    private Agent agent;
    private FutureTask<Integer> serving;

    @BeforeEach
    void open() throws IOException {
        Pipe orders = Pipe.open();
        Pipe news = Pipe.open();
        launcher = connection(news, orders);
        agent = new Agent(connection(orders, news), folder, "java");
        serving = new FutureTask<>((Callable<Integer>) agent::serve);
        Thread.ofPlatform().daemon().start(serving);
        launcher.send(
                new AgentMessage.Open(
                        "HVD_AGENT_TEST=" + UUID.randomUUID(), Duration.ofHours(1), Map.of()));
        assertThat(launcher.receive()).isInstanceOf(AgentMessage.Ready.class);
    }

    @AfterEach
    void close() throws Exception {
        launcher.close();
        assertThat(serving.get(60, TimeUnit.SECONDS)).isZero();
    }

    @Test
    void processIsRemovedAfterForgetAndEndOfStreams() throws Exception {
        for (int number = 0; number < 20; number++) {
            start(number, "echo out; echo err >&2; exit 3");
            readToEnd(number);
            assertThat(agent.processCount())
                    .as("it may yet be killed, with all that it left")
                    .isEqualTo(1);
            launcher.send(new AgentMessage.Kill(number));
            launcher.send(new AgentMessage.Forget(number));
            await().until(() -> agent.processCount() == 0);
        }
    }

    @Test
    void lateCommandsAreIgnored() throws Exception {
        start(0, "true");
        readToEnd(0);
        launcher.send(new AgentMessage.Forget(0));
        await().until(() -> agent.processCount() == 0);
        launcher.send(new AgentMessage.Credit(0, AgentMessage.StandardStream.OUT, 10));
        launcher.send(new AgentMessage.Drain(0));
        launcher.send(new AgentMessage.Kill(0));
        launcher.send(new AgentMessage.Forget(0));
        start(1, "true");
        readToEnd(1);
        assertThat(agent.processCount()).isEqualTo(1);
    }

    @Test
    void streamHeldOpenByAnotherProcessIsKeptUntilDrained() throws Exception {
        Path pid = folder.resolve("pid");
        Path exit = folder.resolve("exit");
        start(
                0,
                "setsid sleep 1000 2>/dev/null & echo $! > %s; until [ -e %s ]; do sleep 0.02; done"
                        .formatted(pid, exit));
        // The JDK closes the streams of an exited process if no thread reads them yet.
        await().until(() -> isReading("hvd-output-0-OUT"));
        Files.createFile(exit);
        AgentMessage.FromAgent ended = awaitMessage(AgentMessage.Exited.class);
        assertThat(ended).isEqualTo(new AgentMessage.Exited(0, 0));
        launcher.send(new AgentMessage.Forget(0));
        start(1, "true"); // handled in order: when this exits, the first was handled
        assertThat(awaitMessage(AgentMessage.Exited.class))
                .isEqualTo(new AgentMessage.Exited(1, 0));
        assertThat(agent.processCount()).isEqualTo(2);
        launcher.send(new AgentMessage.Drain(0));
        await().until(() -> agent.processCount() == 1);
        ProcessHandle.of(Long.parseLong(Files.readString(pid).strip()))
                .ifPresent(ProcessHandle::destroyForcibly);
    }

    private static boolean isReading(String thread) {
        return Thread.getAllStackTraces().entrySet().stream()
                .filter(each -> each.getKey().getName().equals(thread))
                .flatMap(each -> Stream.of(each.getValue()))
                .anyMatch(frame -> frame.getClassName().equals(FileInputStream.class.getName()));
    }

    private static AgentConnection connection(Pipe in, Pipe out) {
        return new AgentConnection(
                Channels.newInputStream(in.source()), Channels.newOutputStream(out.sink()));
    }

    private void start(int number, String script) throws IOException {
        launcher.send(new AgentMessage.Start(number, List.of("sh", "-c", script), Map.of()));
        assertThat(awaitMessage(AgentMessage.Started.class))
                .isInstanceOf(AgentMessage.Started.class);
    }

    /// Exit and the ends of both streams come in any order.
    private void readToEnd(int number) throws IOException {
        int left = 3;
        while (left > 0) {
            switch (launcher.receive()) {
                case AgentMessage.Exited(int process, int _) when process == number -> left--;
                case AgentMessage.Output(int process, AgentMessage.StandardStream _, byte[] bytes)
                        when process == number && bytes.length == 0 ->
                        left--;
                case AgentMessage.Output _, AgentMessage.Heartbeat _ -> {}
                case AgentMessage other -> throw new AssertionError("not expected: " + other);
            }
        }
    }

    private AgentMessage.FromAgent awaitMessage(Class<? extends AgentMessage.FromAgent> type)
            throws IOException {
        while (true) {
            AgentMessage agentMessage = launcher.receive();
            if (type.isInstance(agentMessage)) {
                return type.cast(agentMessage);
            }
        }
    }
}

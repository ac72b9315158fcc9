package org.horovod4j.launcher.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

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

/// An agent with real processes, whose launcher is the test.
class AgentTest {
    @TempDir Path folder;

    private Line launcher;
    private Agent agent;
    private FutureTask<Integer> serving;

    @BeforeEach
    void open() throws IOException {
        Pipe orders = Pipe.open();
        Pipe news = Pipe.open();
        launcher = line(news, orders);
        agent = new Agent(line(orders, news), folder, "java");
        serving = new FutureTask<>((Callable<Integer>) agent::serve);
        Thread.ofPlatform().daemon().start(serving);
        launcher.send(
                new Message.Open(
                        "HVD_AGENT_TEST=" + UUID.randomUUID(), Duration.ofHours(1), Map.of()));
        assertThat(launcher.receive()).isEqualTo(new Message.Ready());
    }

    @AfterEach
    void close() throws Exception {
        launcher.close();
        assertThat(serving.get(60, TimeUnit.SECONDS)).isZero();
    }

    @Test
    void aProcessIsForgottenWhenTheLauncherIsDoneWithItAndAllIsSaid() throws Exception {
        for (int number = 0; number < 20; number++) {
            start(number, "echo out; echo err >&2; exit 3");
            readToItsEnd(number);
            assertThat(agent.count())
                    .as("it may yet be killed, with all that it left")
                    .isEqualTo(1);
            launcher.send(new Message.Kill(number));
            launcher.send(new Message.Forget(number));
            await().until(() -> agent.count() == 0);
        }
    }

    @Test
    void ordersThatComeTooLateAreNoReasonToEnd() throws Exception {
        start(0, "true");
        readToItsEnd(0);
        launcher.send(new Message.Forget(0));
        await().until(() -> agent.count() == 0);
        launcher.send(new Message.Credit(0, Message.Stream.OUT, 10));
        launcher.send(new Message.Drain(0));
        launcher.send(new Message.Kill(0));
        launcher.send(new Message.Forget(0));
        start(1, "true");
        readToItsEnd(1);
        assertThat(agent.count()).isEqualTo(1);
    }

    @Test
    void aStreamThatSomebodyElseHoldsOpenIsKeptUntilItIsDrained() throws Exception {
        Path pid = folder.resolve("pid");
        // The JDK ends streams itself that nobody waits for yet when their process does.
        start(0, "setsid sleep 1000 2>/dev/null & echo $! > %s; sleep 1".formatted(pid));
        Message.News ended = next(Message.Exited.class);
        assertThat(ended).isEqualTo(new Message.Exited(0, 0));
        launcher.send(new Message.Forget(0));
        start(1, "true"); // orders are obeyed in turn, so the other one is when this has ended
        assertThat(next(Message.Exited.class)).isEqualTo(new Message.Exited(1, 0));
        assertThat(agent.count()).isEqualTo(2);
        launcher.send(new Message.Drain(0));
        await().until(() -> agent.count() == 1);
        ProcessHandle.of(Long.parseLong(Files.readString(pid).strip()))
                .ifPresent(ProcessHandle::destroyForcibly);
    }

    private static Line line(Pipe in, Pipe out) {
        return new Line(Channels.newInputStream(in.source()), Channels.newOutputStream(out.sink()));
    }

    private void start(int number, String script) throws IOException {
        launcher.send(new Message.Start(number, List.of("sh", "-c", script), Map.of()));
        assertThat(next(Message.Started.class)).isInstanceOf(Message.Started.class);
    }

    /// Its end and those of both streams come in any order.
    private void readToItsEnd(int number) throws IOException {
        int left = 3;
        while (left > 0) {
            switch (launcher.receive()) {
                case Message.Exited(int process, int _) when process == number -> left--;
                case Message.Output(int process, Message.Stream _, byte[] bytes)
                        when process == number && bytes.length == 0 ->
                        left--;
                case Message.Output _, Message.Heartbeat _ -> {}
                case Message other -> throw new AssertionError("not expected: " + other);
            }
        }
    }

    private Message.News next(Class<? extends Message.News> type) throws IOException {
        while (true) {
            Message message = launcher.receive();
            if (type.isInstance(message)) {
                return type.cast(message);
            }
        }
    }
}

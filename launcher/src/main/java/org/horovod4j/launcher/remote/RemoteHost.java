package org.horovod4j.launcher.remote;

import org.horovod4j.ConfigurationException;
import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.process.HostAgent;
import org.horovod4j.launcher.process.Program;
import org.horovod4j.launcher.process.Signal;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.function.Consumer;

/// A host behind ssh: passes everything on to the [Agent] there.
///
/// One thread receives, and only ever notes what came. Whoever waits is woken by it, by an answer
/// or by the loss of the host.
public final class RemoteHost implements HostAgent {
    /// How long the agent may take to end, once it has nothing more to do.
    private static final Duration FAREWELL = Duration.ofSeconds(5);

    private static final String LET_GO = "the host was let go";

    private static final String CLASS_PATH = "CLASSPATH";

    private final SshConnection ssh;
    private final Line line;
    private final Copies copies;
    private final Heartbeats heartbeats;
    private final RemoteProcesses processes = new RemoteProcesses(this::tell);
    private final CompletableFuture<List<String>> swept = new CompletableFuture<>();
    private final CompletableFuture<String> loss = new CompletableFuture<>();
    private volatile CompletableFuture<Message.News> answer = new CompletableFuture<>();
    private volatile boolean closing;

    RemoteHost(SshConnection ssh, RemoteJob job, Copies copies) {
        this.ssh = ssh;
        this.copies = copies;
        this.line = new Line(ssh.input(), ssh.output());
        this.heartbeats =
                Heartbeats.of(
                        line,
                        job.heartbeatTimeout(),
                        () ->
                                lose(
                                        "no sign of life within the heartbeat timeout of %s s"
                                                .formatted(seconds(job.heartbeatTimeout()))));
        Thread.ofPlatform().daemon().name("hvd-agent").start(this::receive);
    }

    /// Logs in and makes the host ready; nothing of the program runs there yet.
    ///
    /// @param givenUp when complete, nobody waits for the host any more
    /// @throws HostNotReadyException with one sentence that says why and what to do
    public static RemoteHost open(Host host, RemoteJob job, CompletionStage<?> givenUp)
            throws HostNotReadyException {
        return LogIn.to(host, job, givenUp);
    }

    /// Tells the agent which job it serves.
    void open(RemoteJob job) throws IOException {
        ask(
                new Message.Open(
                        job.mark(),
                        job.heartbeatTimeout(),
                        translated(ForwardedVariables.of(job.environment()), copies)));
        heartbeats.begin();
    }

    void sendCopies() throws IOException, HostNotReadyException {
        copies.send(line);
    }

    /// Why contact was lost; empty while it is not.
    String loss() {
        return loss.getNow("");
    }

    /// How it was reached, as one would type it.
    public String route() {
        return ssh.toString();
    }

    private static Map<String, String> translated(Map<String, String> environment, Copies copies) {
        Map<String, String> translated = new TreeMap<>(environment);
        translated.computeIfPresent(CLASS_PATH, (_, path) -> copies.translate(path));
        return translated;
    }

    @Override
    public Program program(List<String> words) throws IOException {
        List<String> there = words.stream().map(copies::translate).toList();
        if (ask(new Message.Find(there)) instanceof Message.Found(Program program)) {
            return program;
        }
        throw new MalformedMessageException("an answer to another question");
    }

    @Override
    public Process start(List<String> command, Map<String, String> variables) throws IOException {
        RemoteProcesses.Entry entry = processes.expect();
        checkContact();
        line.send(new Message.Start(entry.number(), command, variables));
        long pid = await(entry.pid());
        return new RemoteProcess(
                entry.number(),
                pid,
                entry.out(),
                entry.err(),
                entry.status(),
                () -> tell(new Message.Kill(entry.number())));
    }

    @Override
    public void onLoss(Consumer<String> listener) {
        var _ = loss.thenAccept(listener);
    }

    /// The agent has told of it, but keeps what it has of it until nobody here asks any more.
    @Override
    public void ended(Process process) {
        if (process instanceof RemoteProcess remote) {
            tell(new Message.Forget(remote.number()));
        }
    }

    /// Here a silence may be the network's: the host itself tells the end, or is lost, which ends
    /// them too.
    @Override
    public Duration drain(Process process) {
        if (process instanceof RemoteProcess remote) {
            tell(new Message.Drain(remote.number()));
        }
        return Duration.ofNanos(Long.MAX_VALUE);
    }

    @Override
    public void kill(Process process) {
        process.destroyForcibly();
    }

    @Override
    public void signal(Signal signal) {
        tell(new Message.SignalAll(signal));
    }

    /// Nothing, when the host is lost: its agent then sweeps by itself.
    @Override
    public List<String> sweep() throws InterruptedException {
        tell(new Message.Sweep());
        try {
            return swept.get();
        } catch (ExecutionException e) {
            throw new IllegalStateException("a sweep does not fail", e);
        }
    }

    @Override
    public void close() {
        closing = true;
        heartbeats.close();
        try {
            line.close();
            ssh.awaitEnd(FAREWELL);
        } catch (IOException e) {
            log("ssh was gone already", e);
            ssh.kill();
        } catch (InterruptedException e) {
            ssh.kill();
            Thread.currentThread().interrupt();
        }
    }

    /// One question at a time, as the answers do not say to which they belong.
    private synchronized Message.News ask(Message.Order question) throws IOException {
        CompletableFuture<Message.News> mine = new CompletableFuture<>();
        answer = mine;
        checkContact();
        line.send(question);
        return await(mine);
    }

    private void checkContact() throws IOException {
        if (loss.isDone()) {
            throw new IOException(loss.join());
        }
        if (closing) {
            throw new IOException(LET_GO);
        }
    }

    private static <T> T await(CompletableFuture<T> future) throws IOException {
        try {
            return future.join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof ConfigurationException cause) {
                throw cause;
            }
            if (e.getCause() instanceof IOException cause) {
                throw new IOException(cause.getMessage(), cause);
            }
            throw e;
        }
    }

    /// Says what the host need not hear if it is lost.
    private void tell(Message.Order order) {
        try {
            if (!loss.isDone()) {
                line.send(order);
            }
        } catch (IOException e) {
            log("An agent did not take " + order, e); // the receiving thread learns why
        }
    }

    private void receive() {
        try {
            while (true) {
                if (!(line.receive() instanceof Message.News news)) {
                    throw new MalformedMessageException("an order from an agent");
                }
                heard(news);
            }
        } catch (MalformedMessageException e) {
            lose("its agent sent what we do not understand: " + e.getMessage());
        } catch (IOException e) {
            if (closing) {
                log("An agent has ended", e);
                endAll(LET_GO);
            } else {
                lose(ssh.howEnded());
            }
        }
    }

    private void heard(Message.News news) throws MalformedMessageException {
        switch (news) {
            case Message.Heartbeat() -> {}
            case Message.Ready _, Message.Found _ -> answer.complete(news);
            case Message.Missing(String reason) ->
                    answer.completeExceptionally(new ConfigurationException(reason));
            case Message.Started(int number, long pid) -> processes.started(number, pid);
            case Message.NotStarted(int number, String reason) ->
                    processes.notStarted(number, reason);
            case Message.Output(int number, Message.Stream stream, byte[] bytes) ->
                    processes.printed(number, stream, bytes);
            case Message.Exited(int number, int status) -> processes.exited(number, status);
            case Message.Swept(List<String> left) -> swept.complete(left);
            case Message.Failed(String reason) -> lose(reason);
        }
    }

    private void lose(String reason) {
        if (!closing && loss.complete(reason)) {
            heartbeats.close();
            ssh.kill();
        }
        endAll(reason);
    }

    /// Ends every wait for something from this host, as nothing more comes: also when it was let
    /// go, for its agent then ends without a word about the streams of its processes.
    private void endAll(String reason) {
        answer.completeExceptionally(new IOException(reason));
        processes.lost(reason);
        swept.complete(List.of());
    }

    private static String seconds(Duration duration) {
        return duration.toMillis() % 1000 == 0
                ? Long.toString(duration.toSeconds())
                : Double.toString(duration.toMillis() / 1000.0);
    }

    private static void log(String message, IOException cause) {
        System.getLogger(RemoteHost.class.getName()).log(Level.DEBUG, message, cause);
    }
}

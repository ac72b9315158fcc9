package org.horovod4j.launcher.remote;

import org.horovod4j.ConfigurationException;
import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.process.HostAgent;
import org.horovod4j.launcher.process.HostMachine;
import org.horovod4j.launcher.process.Program;
import org.horovod4j.launcher.process.Signal;
import org.horovod4j.launcher.remote.AgentMessage.StandardStream;
import org.horovod4j.text.DurationFormat;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.function.Consumer;

/// A host behind ssh. Forwards everything to the [Agent] there.
///
/// One thread receives, and never blocks. It completes the futures that other threads wait for,
/// with an answer or with the loss of the host.
public final class RemoteHost implements HostAgent {
    /// How long the agent may take to exit when it has nothing more to do.
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

    private static final String CLOSED = "the connection to the host was closed";

    private final SshProcess ssh;
    private final AgentConnection connection;
    private final RemoteHostSettings job;
    private final CopiedFiles copiedFiles;
    private final RemoteProcesses processes = new RemoteProcesses(this::sendIfConnected);
    private final CompletableFuture<List<String>> swept = new CompletableFuture<>();
    private final CompletableFuture<String> loss = new CompletableFuture<>();
    private volatile CompletableFuture<AgentMessage.FromAgent> answer = new CompletableFuture<>();
    private volatile boolean closing;

    /// Set when the agent has answered for the first time.
    private volatile HostMachine machine = new HostMachine("", 1, 0, "");

    /// @param folder of the agent
    RemoteHost(SshProcess ssh, RemoteHostSettings job, String folder) {
        this.ssh = ssh;
        this.job = job;
        this.copiedFiles = new CopiedFiles(job.copies(), folder);
        this.connection = new AgentConnection(ssh.input(), ssh.output());
        Thread.ofPlatform().daemon().name("hvd-agent").start(this::receive);
    }

    /// Logs in and sets up the host. Does not start the program yet.
    ///
    /// @param givenUp when complete, the setup is abandoned
    /// @throws HostNotReadyException with one sentence that says why and what to do
    public static RemoteHost open(Host host, RemoteHostSettings job, CompletionStage<?> givenUp)
            throws HostNotReadyException {
        return HostSetup.open(host, job, givenUp);
    }

    /// Sends the job's settings to the agent.
    void open() throws IOException {
        Map<String, String> variables = ForwardedVariables.of(job.environment());
        variables.computeIfPresent("CLASSPATH", (_, path) -> copiedFiles.translate(path));
        Duration timeout = job.heartbeatTimeout();
        if (!(request(new AgentMessage.Open(job.jobVariable(), timeout, variables))
                instanceof AgentMessage.Ready(String id, int processors, int gpus, String java))) {
            throw new MalformedMessageException("an answer to another request");
        }
        machine = new HostMachine(id, processors, gpus, java);
        String silence =
                "it was silent for the heartbeat timeout of %s"
                        .formatted(DurationFormat.seconds(timeout));
        connection.startHeartbeats(timeout, () -> markLost(silence));
    }

    void sendCopies() throws IOException, HostNotReadyException {
        copiedFiles.send(connection);
    }

    /// Why the host was lost; empty if it is not.
    String loss() {
        return loss.getNow("");
    }

    /// The ssh command line, without the remote command.
    public String route() {
        return ssh.toString();
    }

    @Override
    public HostMachine machine() {
        return machine;
    }

    @Override
    public Program program(List<String> words) throws IOException {
        List<String> there = words.stream().map(copiedFiles::translate).toList();
        if (request(new AgentMessage.FindProgram(there))
                instanceof
                AgentMessage.ProgramFound(
                        List<String> command,
                        String unwantedLine,
                        List<String> missingJars)) {
            return new Program(command, unwantedLine, missingJars, null);
        }
        throw new MalformedMessageException("an answer to another request");
    }

    @Override
    public Process start(List<String> command, Map<String, String> variables) throws IOException {
        RemoteProcess process = processes.add();
        checkConnected();
        connection.send(new AgentMessage.Start(process.number(), command, variables));
        await(process.start());
        return process;
    }

    @Override
    public void onLoss(Consumer<String> listener) {
        var _ = loss.thenAccept(listener);
    }

    /// Lets the agent remove what it keeps of a process that has exited.
    @Override
    public void ended(Process process) {
        if (process instanceof RemoteProcess remote) {
            sendIfConnected(new AgentMessage.Forget(remote.number()));
        }
    }

    /// No timeout: on this side, the network may cause the silence. The agent reports the end of
    /// the streams, or the loss of the host ends them.
    @Override
    public Duration drain(Process process) {
        if (process instanceof RemoteProcess remote) {
            sendIfConnected(new AgentMessage.Drain(remote.number()));
        }
        return Duration.ofNanos(Long.MAX_VALUE);
    }

    @Override
    public void kill(Process process) {
        process.destroyForcibly();
    }

    @Override
    public void signal(Signal signal) {
        sendIfConnected(new AgentMessage.SignalAll(signal));
    }

    /// Empty when the host is lost: its agent then sweeps without being asked.
    @Override
    public List<String> sweep() throws InterruptedException {
        sendIfConnected(new AgentMessage.Sweep());
        try {
            return swept.get();
        } catch (ExecutionException e) {
            throw new IllegalStateException("a sweep does not fail", e);
        }
    }

    @Override
    public void close() {
        closing = true;
        try {
            connection.close();
            ssh.awaitEnd(CLOSE_TIMEOUT);
        } catch (IOException e) {
            log("ssh has exited already", e);
            ssh.kill();
        } catch (InterruptedException e) {
            ssh.kill();
            Thread.currentThread().interrupt();
        }
    }

    /// One request at a time, because answers do not say to which request they belong.
    private synchronized AgentMessage.FromAgent request(AgentMessage.FromLauncher question)
            throws IOException {
        CompletableFuture<AgentMessage.FromAgent> mine = new CompletableFuture<>();
        answer = mine;
        checkConnected();
        connection.send(question);
        return await(mine);
    }

    private void checkConnected() throws IOException {
        if (loss.isDone()) {
            throw new IOException(loss.join());
        }
        if (closing) {
            throw new IOException(CLOSED);
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

    /// Sends a message, unless the host is lost.
    private void sendIfConnected(AgentMessage.FromLauncher fromLauncher) {
        try {
            if (!loss.isDone()) {
                connection.send(fromLauncher);
            }
        } catch (IOException e) {
            // The receiving thread learns why.
            log("Sending " + fromLauncher + " to an agent failed", e);
        }
    }

    private void receive() {
        try {
            while (true) {
                if (!(connection.receive() instanceof AgentMessage.FromAgent fromAgent)) {
                    throw new MalformedMessageException("a message of the launcher from an agent");
                }
                handle(fromAgent);
            }
        } catch (MalformedMessageException e) {
            markLost("its agent sent a malformed message: " + e.getMessage());
        } catch (IOException e) {
            if (closing) {
                log("An agent has ended", e);
                failPending(CLOSED);
            } else {
                markLost(ssh.howEnded());
            }
        }
    }

    private void handle(AgentMessage.FromAgent fromAgent) throws MalformedMessageException {
        switch (fromAgent) {
            case AgentMessage.Heartbeat() -> {}
            case AgentMessage.Ready _, AgentMessage.ProgramFound _ -> answer.complete(fromAgent);
            case AgentMessage.ProgramMissing(String reason) ->
                    answer.completeExceptionally(new ConfigurationException(reason));
            case AgentMessage.Started(int number, long pid) ->
                    processes.update(number, process -> process.started(pid));
            case AgentMessage.NotStarted(int number, String reason) ->
                    processes.notStarted(number, reason);
            case AgentMessage.Output(int number, StandardStream standardStream, byte[] bytes) ->
                    processes.update(number, process -> process.output(standardStream, bytes));
            case AgentMessage.Exited(int number, int status) ->
                    processes.update(number, process -> process.exited(status));
            case AgentMessage.Swept(List<String> left) -> swept.complete(left);
            case AgentMessage.Failed(String reason) -> markLost(reason);
        }
    }

    private void markLost(String reason) {
        if (!closing && loss.complete(reason)) {
            connection.stopHeartbeats();
            ssh.kill();
        }
        failPending(reason);
    }

    /// Ends every wait for this host, because nothing more comes. Also on close: then the agent
    /// exits without reporting the end of the streams.
    private void failPending(String reason) {
        answer.completeExceptionally(new IOException(reason));
        processes.hostLost(reason);
        swept.complete(List.of());
    }

    private static void log(String message, IOException cause) {
        System.getLogger(RemoteHost.class.getName()).log(Level.DEBUG, message, cause);
    }
}

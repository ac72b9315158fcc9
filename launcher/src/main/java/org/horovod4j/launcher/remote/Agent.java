package org.horovod4j.launcher.remote;

import org.horovod4j.ConfigurationException;
import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.launcher.process.HostMachine;
import org.horovod4j.launcher.process.LocalHost;
import org.horovod4j.launcher.process.Program;
import org.horovod4j.launcher.process.SearchPath;
import org.horovod4j.launcher.process.Signal;
import org.horovod4j.launcher.remote.AgentMessage.StandardStream;

import java.io.BufferedOutputStream;
import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/// Starts and ends processes on a remote host, as the launcher tells it.
///
/// It runs as long as its connection. When that ends or is silent, the agent exits. Its watchdog
/// then ends all processes, as it does for a launcher that was killed.
public final class Agent {
    private static final int FAILURE = 1;

    private final AgentConnection connection;
    private final Path folder;
    private final String java;
    private final Map<Integer, AgentProcess> processes = new ConcurrentHashMap<>();

    /// @param folder of the agent
    /// @param java the `java` that runs it
    Agent(AgentConnection agentConnection, Path folder, String java) {
        this.connection = agentConnection;
        this.folder = folder;
        this.java = java;
    }

    /// Serves a launcher on standard input and output.
    ///
    /// @param arguments the agent's folder, and the `java` that runs it
    public static void main(String[] arguments) throws IOException {
        // Standard output carries only messages.
        System.setOut(System.err);
        AgentConnection agentConnection =
                new AgentConnection(
                        new FileInputStream(FileDescriptor.in),
                        new BufferedOutputStream(new FileOutputStream(FileDescriptor.out)));
        System.exit(new Agent(agentConnection, Path.of(arguments[0]), arguments[1]).serve());
    }

    /// Handles messages until the launcher closes the connection.
    ///
    /// @return the exit code of the agent
    int serve() throws IOException {
        try {
            if (!(connection.receive() instanceof AgentMessage.Open open)) {
                throw new MalformedMessageException("another message before Open");
            }
            connection.startHeartbeats(open.heartbeatTimeout(), () -> System.exit(FAILURE));
            try (LocalHost host = LocalHost.open(open.jobVariable())) {
                HostMachine machine = host.machine();
                connection.send(
                        new AgentMessage.Ready(
                                machine.id(),
                                machine.processors(),
                                machine.gpus(),
                                machine.java()));
                while (true) {
                    handle(connection.receive(), host, open.environment());
                }
            }
        } catch (EOFException e) {
            return 0; // the launcher has closed the connection
        } catch (IOException | RuntimeException e) {
            connection.send(new AgentMessage.Failed(reason(e)));
            return FAILURE;
        }
    }

    private static String reason(Exception e) {
        return e instanceof ConfigurationException
                ? String.valueOf(e.getMessage())
                : "its agent failed: " + e;
    }

    private void handle(AgentMessage agentMessage, LocalHost host, Map<String, String> environment)
            throws IOException {
        if (!(agentMessage instanceof AgentMessage.FromLauncher fromLauncher)) {
            throw new MalformedMessageException("a message of an agent from the launcher");
        }
        switch (fromLauncher) {
            case AgentMessage.Heartbeat() -> {}
            case AgentMessage.Open _ -> throw new MalformedMessageException("opened twice");
            case AgentMessage.WriteFile(String path, boolean executable, byte[] bytes) ->
                    writeFile(path, executable, bytes);
            case AgentMessage.FindProgram(List<String> words) ->
                    connection.send(find(words, environment.getOrDefault("PATH", "")));
            case AgentMessage.Start start -> start(start, host, environment);
            case AgentMessage.Credit(int number, StandardStream standardStream, int bytes) ->
                    find(number).ifPresent(process -> process.addCredit(standardStream, bytes));
            case AgentMessage.SignalAll(Signal signal) -> host.signal(signal);
            case AgentMessage.Kill(int number) ->
                    find(number).ifPresent(process -> host.kill(process.process()));
            case AgentMessage.Drain(int number) -> find(number).ifPresent(AgentProcess::drain);
            case AgentMessage.Forget(int number) ->
                    find(number).ifPresent(it -> it.whenStreamsEnded(() -> remove(number)));
            case AgentMessage.Sweep() -> sweep(host);
        }
    }

    /// Empty when it was removed: the last credits may arrive after the end of the streams.
    private Optional<AgentProcess> find(int number) {
        return Optional.ofNullable(processes.get(number));
    }

    private void remove(int number) {
        processes.remove(number);
    }

    /// How many processes have not been removed yet.
    int processCount() {
        return processes.size();
    }

    private void writeFile(String path, boolean executable, byte[] bytes) throws IOException {
        Path file = folder.resolve(path).normalize();
        if (!file.startsWith(folder)) {
            throw new MalformedMessageException("a file outside the agent's folder: " + path);
        }
        Files.createDirectories(file.resolveSibling("."));
        try (OutputStream out =
                Files.newOutputStream(file, StandardOpenOption.CREATE, StandardOpenOption.APPEND)) {
            out.write(bytes);
        }
        if (executable && !file.toFile().setExecutable(true)) {
            throw new IOException("cannot make %s executable".formatted(file));
        }
    }

    private AgentMessage.FromAgent find(List<String> words, String path) {
        try {
            Program program = Program.of(words, SearchPath.of(path), () -> java);
            return new AgentMessage.ProgramFound(
                    program.command(), program.unwantedLine(), program.missingJars());
        } catch (ConfigurationException e) {
            return new AgentMessage.ProgramMissing(String.valueOf(e.getMessage()));
        }
    }

    private void start(AgentMessage.Start start, LocalHost host, Map<String, String> environment)
            throws IOException {
        Map<String, String> variables = new HashMap<>(environment);
        variables.putAll(start.variables());
        Process process;
        try {
            process = host.start(start.command(), variables);
        } catch (IOException e) {
            connection.send(
                    new AgentMessage.NotStarted(start.process(), String.valueOf(e.getMessage())));
            return;
        }
        connection.send(new AgentMessage.Started(start.process(), process.pid()));
        processes.put(start.process(), new AgentProcess(start.process(), process, connection));
        var _ = process.onExit().thenAccept(ended -> exited(start.process(), ended, host));
    }

    private void exited(int number, Process process, LocalHost host) {
        host.ended(process);
        try {
            connection.send(new AgentMessage.Exited(number, process.exitValue()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /// On its own thread: it may take seconds, during which heartbeats and credits must be handled.
    private void sweep(LocalHost host) {
        Runnable sweep =
                () -> {
                    try {
                        connection.send(new AgentMessage.Swept(host.sweep()));
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                };
        Thread.ofPlatform().daemon().name("hvd-sweep").start(sweep);
    }
}

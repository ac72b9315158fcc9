package org.horovod4j.launcher.remote;

import java.io.IOException;
import java.io.InputStream;
import java.lang.System.Logger.Level;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.Semaphore;

/// A process that the agent has started: two threads send its output, as far as the launcher
/// allows.
///
/// Platform threads, since reads of a pipe block the thread below a virtual one too.
final class AgentProcess {
    private static final int CHUNK = 1 << 15;

    private final int number;
    private final Process process;
    private final Line line;
    private final Map<Message.Stream, Semaphore> credits = new EnumMap<>(Message.Stream.class);

    AgentProcess(int number, Process process, Line line) {
        this.number = number;
        this.process = process;
        this.line = line;
        for (Message.Stream stream : Message.Stream.values()) {
            credits.put(stream, new Semaphore(Message.Stream.WINDOW));
        }
    }

    /// Begins to send what it prints. To be called once the launcher knows of it.
    void start() {
        forward(Message.Stream.OUT, process.getInputStream());
        forward(Message.Stream.ERR, process.getErrorStream());
    }

    Process process() {
        return process;
    }

    void grant(Message.Stream stream, int bytes) {
        credit(stream).release(bytes);
    }

    private Semaphore credit(Message.Stream stream) {
        return credits.computeIfAbsent(stream, _ -> new Semaphore(0));
    }

    private void forward(Message.Stream stream, InputStream source) {
        Thread.ofPlatform()
                .daemon()
                .name("hvd-output-%d-%s".formatted(number, stream))
                .start(() -> run(stream, source));
    }

    private void run(Message.Stream stream, InputStream source) {
        Semaphore credit = credit(stream);
        byte[] chunk = new byte[CHUNK];
        try {
            int length;
            while ((length = read(source, chunk)) > 0) {
                credit.acquireUninterruptibly(length);
                line.send(new Message.Output(number, stream, Arrays.copyOf(chunk, length)));
            }
            line.send(new Message.Output(number, stream, new byte[0]));
        } catch (IOException e) {
            log("Nobody takes the output of a process any more", e);
        }
    }

    /// @return -1 at the end, also when the JVM closed the stream because its process has ended
    private static int read(InputStream source, byte[] chunk) {
        try {
            return source.read(chunk);
        } catch (IOException e) {
            log("The stream of a process ended", e);
            return -1;
        }
    }

    private static void log(String message, IOException cause) {
        System.getLogger(AgentProcess.class.getName()).log(Level.DEBUG, message, cause);
    }
}

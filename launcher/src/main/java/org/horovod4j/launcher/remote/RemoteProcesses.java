package org.horovod4j.launcher.remote;

import org.horovod4j.frame.MalformedMessageException;

import java.io.IOException;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/// The processes of a host that are not finished. Each is removed when it has exited and both its
/// streams have ended: a long job starts many.
///
/// Any thread may start a process. One thread receives their events.
final class RemoteProcesses {
    private final Consumer<AgentMessage.FromLauncher> commandSender;
    private final AtomicInteger nextNumber = new AtomicInteger();
    private final Map<Integer, Entry> entries = new ConcurrentHashMap<>();

    /// @param commandSender sends a message to the host, unless it is lost
    RemoteProcesses(Consumer<AgentMessage.FromLauncher> commandSender) {
        this.commandSender = commandSender;
    }

    /// The state of a process.
    ///
    /// @param pid its number there, once it has started
    /// @param status its exit status, once it has exited
    record Entry(
            int number,
            CompletableFuture<Long> pid,
            RemoteStream out,
            RemoteStream err,
            CompletableFuture<Integer> status) {
        private RemoteStream stream(AgentMessage.StandardStream standardStream) {
            return switch (standardStream) {
                case OUT -> out;
                case ERR -> err;
            };
        }

        private boolean hasEnded() {
            return status.isDone() && out.hasEnded() && err.hasEnded();
        }

        private void hostLost(String reason) {
            pid.completeExceptionally(new IOException(reason));
            out.append(new byte[0]);
            err.append(new byte[0]);
            status.complete(RemoteProcess.LOST);
        }
    }

    /// Registers a process under the next number.
    Entry register() {
        int number = nextNumber.getAndIncrement();
        Entry entry =
                new Entry(
                        number,
                        new CompletableFuture<>(),
                        stream(number, AgentMessage.StandardStream.OUT),
                        stream(number, AgentMessage.StandardStream.ERR),
                        new CompletableFuture<>());
        entries.put(number, entry);
        return entry;
    }

    private RemoteStream stream(int number, AgentMessage.StandardStream standardStream) {
        return new RemoteStream(
                bytes ->
                        commandSender.accept(
                                new AgentMessage.Credit(number, standardStream, bytes)));
    }

    void started(int number, long pid) throws MalformedMessageException {
        find(number).ifPresent(entry -> entry.pid.complete(pid));
    }

    void notStarted(int number, String reason) throws MalformedMessageException {
        find(number).ifPresent(entry -> entry.pid.completeExceptionally(new IOException(reason)));
        entries.remove(number);
    }

    void output(int number, AgentMessage.StandardStream standardStream, byte[] bytes)
            throws MalformedMessageException {
        find(number)
                .ifPresent(
                        entry -> {
                            entry.stream(standardStream).append(bytes);
                            removeIfEnded(entry);
                        });
    }

    void exited(int number, int status) throws MalformedMessageException {
        find(number)
                .ifPresent(
                        entry -> {
                            entry.status.complete(status);
                            removeIfEnded(entry);
                        });
    }

    /// No more events of any process come.
    void hostLost(String reason) {
        entries.values().forEach(entry -> entry.hostLost(reason));
        entries.clear();
    }

    /// How many are not finished.
    int size() {
        return entries.size();
    }

    private void removeIfEnded(Entry entry) {
        if (entry.hasEnded()) {
            entries.remove(entry.number);
        }
    }

    /// Empty when it was removed: later output of its children is ignored.
    private Optional<Entry> find(int number) throws MalformedMessageException {
        if (number < 0 || number >= nextNumber.get()) {
            throw new MalformedMessageException("a message about unknown process " + number);
        }
        return Optional.ofNullable(entries.get(number));
    }
}

package org.horovod4j.launcher.remote;

import org.horovod4j.frame.MalformedMessageException;

import java.io.IOException;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/// The processes of a host, as far as anything is yet to be heard of them: a long job starts many,
/// and each is forgotten when it has ended and both its streams have.
///
/// Any thread may start one; one thread hears of them.
final class RemoteProcesses {
    private final Consumer<AgentMessage.FromLauncher> commandSender;
    private final AtomicInteger nextNumber = new AtomicInteger();
    private final Map<Integer, Entry> entries = new ConcurrentHashMap<>();

    /// @param commandSender says something to the host, which need not hear it if it is lost
    RemoteProcesses(Consumer<AgentMessage.FromLauncher> commandSender) {
        this.commandSender = commandSender;
    }

    /// What is known of a process.
    ///
    /// @param pid its number there, once it is started
    /// @param status its exit status, once it has ended
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

    /// Expects a process, under the next number.
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

    /// Nothing more comes of any of them.
    void hostLost(String reason) {
        entries.values().forEach(entry -> entry.hostLost(reason));
        entries.clear();
    }

    /// How many there are that something may yet be heard of.
    int size() {
        return entries.size();
    }

    private void removeIfEnded(Entry entry) {
        if (entry.hasEnded()) {
            entries.remove(entry.number);
        }
    }

    /// Empty when it is forgotten: what some child of its prints later is of no interest.
    private Optional<Entry> find(int number) throws MalformedMessageException {
        if (number < 0 || number >= nextNumber.get()) {
            throw new MalformedMessageException("news of process " + number);
        }
        return Optional.ofNullable(entries.get(number));
    }
}

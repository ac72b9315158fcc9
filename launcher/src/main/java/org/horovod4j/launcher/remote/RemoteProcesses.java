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
    private final Consumer<Message.Order> orders;
    private final AtomicInteger numbers = new AtomicInteger();
    private final Map<Integer, Entry> entries = new ConcurrentHashMap<>();

    /// @param orders says something to the host, which need not hear it if it is lost
    RemoteProcesses(Consumer<Message.Order> orders) {
        this.orders = orders;
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
        private RemoteStream stream(Message.Stream stream) {
            return switch (stream) {
                case OUT -> out;
                case ERR -> err;
            };
        }

        private boolean isOver() {
            return status.isDone() && out.hasEnded() && err.hasEnded();
        }

        private void lost(String reason) {
            pid.completeExceptionally(new IOException(reason));
            out.came(new byte[0]);
            err.came(new byte[0]);
            status.complete(RemoteProcess.LOST);
        }
    }

    /// Expects a process, under the next number.
    Entry expect() {
        int number = numbers.getAndIncrement();
        Entry entry =
                new Entry(
                        number,
                        new CompletableFuture<>(),
                        stream(number, Message.Stream.OUT),
                        stream(number, Message.Stream.ERR),
                        new CompletableFuture<>());
        entries.put(number, entry);
        return entry;
    }

    private RemoteStream stream(int number, Message.Stream stream) {
        return new RemoteStream(bytes -> orders.accept(new Message.Credit(number, stream, bytes)));
    }

    void started(int number, long pid) throws MalformedMessageException {
        find(number).ifPresent(entry -> entry.pid.complete(pid));
    }

    void notStarted(int number, String reason) throws MalformedMessageException {
        find(number).ifPresent(entry -> entry.pid.completeExceptionally(new IOException(reason)));
        entries.remove(number);
    }

    void printed(int number, Message.Stream stream, byte[] bytes) throws MalformedMessageException {
        find(number)
                .ifPresent(
                        entry -> {
                            entry.stream(stream).came(bytes);
                            forgetIfOver(entry);
                        });
    }

    void exited(int number, int status) throws MalformedMessageException {
        find(number)
                .ifPresent(
                        entry -> {
                            entry.status.complete(status);
                            forgetIfOver(entry);
                        });
    }

    /// Nothing more comes of any of them.
    void lost(String reason) {
        entries.values().forEach(entry -> entry.lost(reason));
        entries.clear();
    }

    /// How many there are that something may yet be heard of.
    int count() {
        return entries.size();
    }

    private void forgetIfOver(Entry entry) {
        if (entry.isOver()) {
            entries.remove(entry.number);
        }
    }

    /// Empty when it is forgotten: what some child of its prints later is of no interest.
    private Optional<Entry> find(int number) throws MalformedMessageException {
        if (number < 0 || number >= numbers.get()) {
            throw new MalformedMessageException("news of process " + number);
        }
        return Optional.ofNullable(entries.get(number));
    }
}

package org.horovod4j.launcher.remote;

import org.horovod4j.frame.MalformedMessageException;

import java.util.Map;
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
    private final Map<Integer, RemoteProcess> processes = new ConcurrentHashMap<>();

    /// @param commandSender sends a message to the host, unless it is lost
    RemoteProcesses(Consumer<AgentMessage.FromLauncher> commandSender) {
        this.commandSender = commandSender;
    }

    /// Adds a process with the next number.
    RemoteProcess add() {
        RemoteProcess process = new RemoteProcess(nextNumber.getAndIncrement(), commandSender);
        processes.put(process.number(), process);
        return process;
    }

    void notStarted(int number, String reason) throws MalformedMessageException {
        update(number, process -> process.notStarted(reason));
        processes.remove(number);
    }

    /// Applies what the agent reports about a process. Ignores it when the process was removed: its
    /// children may still print.
    void update(int number, Consumer<RemoteProcess> change) throws MalformedMessageException {
        if (number < 0 || number >= nextNumber.get()) {
            throw new MalformedMessageException("a message about unknown process " + number);
        }
        RemoteProcess process = processes.get(number);
        if (process != null) {
            change.accept(process);
            if (process.hasEnded()) {
                processes.remove(number);
            }
        }
    }

    /// No more events of any process come.
    void hostLost(String reason) {
        processes.values().forEach(process -> process.hostLost(reason));
        processes.clear();
    }

    /// How many are not finished.
    int size() {
        return processes.size();
    }
}

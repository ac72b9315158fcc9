package org.horovod4j.launcher;

import org.horovod4j.launcher.driver.Worker;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/// The processes of an elastic job, each from the order to start it to the last line that it
/// prints.
///
/// Starting takes a while, so a worker may be lost or not wanted any more before its process is
/// known. The thread that runs the job owns this.
final class WorkerProcesses {
    private final Set<Integer> starting = new HashSet<>();
    private final Set<Integer> killOnStart = new HashSet<>();
    private final Map<Integer, WorkerProcess> running = new TreeMap<>();

    /// Those that may still print, some of them ended.
    private final List<WorkerProcess> withOpenOutput = new ArrayList<>();

    /// A process is on its way for this worker.
    void starting(Worker worker) {
        starting.add(worker.number());
    }

    /// Takes in a process that has been started. One that is not wanted any more is killed, and its
    /// end is still to come.
    void started(WorkerProcess process) {
        int number = process.worker().number();
        starting.remove(number);
        running.put(number, process);
        closeFinishedOutput();
        withOpenOutput.add(process);
        if (killOnStart.remove(number)) {
            process.kill();
        }
    }

    /// Lets go of processes that have ended and said all, so that a long job does not run out of
    /// files.
    private void closeFinishedOutput() {
        List<WorkerProcess> silent =
                withOpenOutput.stream().filter(WorkerProcess::hasPrintedAll).toList();
        silent.forEach(WorkerProcess::closeFiles);
        withOpenOutput.removeAll(silent);
    }

    void notStarted(Worker worker) {
        starting.remove(worker.number());
        killOnStart.remove(worker.number());
    }

    /// Takes note that a process has ended.
    ///
    /// @return whether it was one of the job's; it is not when its host was lost before
    boolean ended(WorkerProcess process) {
        return running.remove(process.worker().number(), process);
    }

    /// Takes note that a host is lost, whose processes end by themselves, unseen.
    ///
    /// @return the workers there
    List<Worker> removeHost(String host) {
        List<Worker> gone = workersOn(host, running.values());
        gone.forEach(worker -> running.remove(worker.number()));
        return gone;
    }

    private static List<Worker> workersOn(String host, Collection<WorkerProcess> processes) {
        return processes.stream()
                .map(WorkerProcess::worker)
                .filter(worker -> worker.host().equals(host))
                .toList();
    }

    /// Kills the process of a worker, as soon as there is one.
    void kill(Worker worker) {
        WorkerProcess process = running.get(worker.number());
        if (process != null) {
            process.kill();
        } else if (starting.contains(worker.number())) {
            killOnStart.add(worker.number());
        }
    }

    /// The process of a worker, if it runs.
    Optional<WorkerProcess> find(Worker worker) {
        return Optional.ofNullable(running.get(worker.number()));
    }

    Collection<WorkerProcess> running() {
        return List.copyOf(running.values());
    }

    /// Whether no process is left and none is on its way.
    boolean isEmpty() {
        return running.isEmpty() && starting.isEmpty();
    }

    /// Those of a host that may still print.
    List<WorkerProcess> withOpenOutputOn(String host) {
        return withOpenOutput.stream()
                .filter(process -> process.worker().host().equals(host))
                .toList();
    }

    /// Waits for the last lines of all. To be called when they have ended.
    void awaitOutput() throws InterruptedException {
        for (WorkerProcess process : withOpenOutput) {
            process.awaitOutput();
        }
    }
}

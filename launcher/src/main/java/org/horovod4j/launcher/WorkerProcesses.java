package org.horovod4j.launcher;

import org.horovod4j.launcher.driver.Worker;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/// The processes of a job, each from the request to start it to its last line of output.
///
/// A start takes time, so a worker may be killed before its process is known. The thread that runs
/// the job owns this.
final class WorkerProcesses {
    private final Set<Integer> starting = new HashSet<>();
    private final Set<Integer> killOnStart = new HashSet<>();
    private final Map<Integer, WorkerProcess> running = new TreeMap<>();

    /// Exited, or on a lost host. Kept for their last lines of standard error.
    private final Map<Integer, WorkerProcess> ended = new HashMap<>();

    /// Those that may still print, including some that have exited.
    private final List<WorkerProcess> withOpenOutput = new ArrayList<>();

    private int startedCount;

    /// A process is being started for this worker.
    void starting(Worker worker) {
        starting.add(worker.number());
    }

    /// Adds a process that has been started. If its worker was killed meanwhile, the process is
    /// killed now and stays until it has exited.
    void started(WorkerProcess process) {
        int number = process.worker().number();
        startedCount++;
        starting.remove(number);
        running.put(number, process);
        closeFinishedOutput();
        withOpenOutput.add(process);
        if (killOnStart.remove(number)) {
            process.kill();
        }
    }

    /// Closes the files of processes that have printed all, so that a long job does not run out of
    /// file descriptors.
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

    /// Removes a process that has exited.
    ///
    /// @return false when it was removed before, because its host was lost
    boolean ended(WorkerProcess process) {
        boolean isRemoved = running.remove(process.worker().number(), process);
        if (isRemoved) {
            ended.put(process.worker().number(), process);
        }
        return isRemoved;
    }

    /// Removes the running processes of a lost host.
    ///
    /// @return their workers
    List<Worker> removeHost(String host) {
        List<WorkerProcess> lost =
                running.values().stream()
                        .filter(process -> process.worker().host().equals(host))
                        .toList();
        lost.forEach(this::ended);
        return lost.stream().map(WorkerProcess::worker).toList();
    }

    /// Kills the process of a worker, now or when it has started.
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

    /// Whether no process runs and none is being started.
    boolean isEmpty() {
        return running.isEmpty() && starting.isEmpty();
    }

    /// How many processes were ever started.
    int startedCount() {
        return startedCount;
    }

    /// Drops the processes that have exited.
    void forgetEnded() {
        ended.clear();
    }

    /// The last lines of standard error of a worker; none if it never ran.
    List<String> lastErrors(Worker worker) {
        return find(worker)
                .or(() -> Optional.ofNullable(ended.get(worker.number())))
                .map(WorkerProcess::lastErrors)
                .orElse(List.of());
    }

    /// The processes of a host that may still print.
    List<WorkerProcess> withOpenOutputOn(String host) {
        return withOpenOutput.stream()
                .filter(process -> process.worker().host().equals(host))
                .toList();
    }

    /// Waits for the last lines of all processes. To be called when they have exited.
    void awaitOutput() throws InterruptedException {
        WorkerProcess.awaitOutput(withOpenOutput);
    }
}

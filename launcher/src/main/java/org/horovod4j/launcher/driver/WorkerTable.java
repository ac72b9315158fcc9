package org.horovod4j.launcher.driver;

import org.horovod4j.launcher.driver.WorkerState.Leaving;
import org.horovod4j.launcher.driver.WorkerState.Phase;
import org.horovod4j.launcher.driver.WorkerState.Ready;
import org.horovod4j.launcher.driver.WorkerState.Starting;
import org.horovod4j.launcher.driver.WorkerState.Working;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.UnaryOperator;

/// The live workers, by number.
final class WorkerTable {
    private final Map<Integer, WorkerState> members = new TreeMap<>();
    private int nextNumber;

    /// Adds a worker for a slot, with the next number.
    Worker add(String host, int slot) {
        Worker worker = new Worker(nextNumber++, host, slot);
        members.put(worker.number(), WorkerState.starting(worker));
        return worker;
    }

    Optional<WorkerState> find(int number) {
        return Optional.ofNullable(members.get(number));
    }

    void update(Worker worker, UnaryOperator<WorkerState> change) {
        members.computeIfPresent(worker.number(), (_, workerState) -> change.apply(workerState));
    }

    /// Marks a worker that was asked to exit.
    void markLeaving(Worker worker) {
        update(worker, WorkerState::leaving);
    }

    Optional<WorkerState> remove(int number) {
        return Optional.ofNullable(members.remove(number));
    }

    boolean isEmpty() {
        return members.isEmpty();
    }

    List<WorkerState> onHost(String host) {
        return members.values().stream()
                .filter(workerState -> workerState.worker().host().equals(host))
                .toList();
    }

    boolean isOccupied(String host, int slot) {
        return onHost(host).stream().anyMatch(workerState -> workerState.worker().slot() == slot);
    }

    List<WorkerState> starting() {
        return inPhase(Starting.class);
    }

    /// The workers that wait for a rank, by seniority.
    List<WorkerState> ready() {
        return inPhase(Ready.class).stream().sorted(WorkerState.BY_SENIORITY).toList();
    }

    List<WorkerState> working() {
        return inPhase(Working.class);
    }

    /// The workers that were not asked to exit.
    List<WorkerState> staying() {
        return members.values().stream()
                .filter(workerState -> !(workerState.phase() instanceof Leaving))
                .toList();
    }

    /// Whether one of these workers has been ready for so long.
    static boolean anyReadyFor(Duration time, List<WorkerState> members, Duration now) {
        return members.stream()
                .anyMatch(
                        workerState ->
                                workerState.phase() instanceof Ready ready
                                        && now.minus(ready.since()).compareTo(time) >= 0);
    }

    private List<WorkerState> inPhase(Class<? extends Phase> phase) {
        return members.values().stream()
                .filter(workerState -> phase.isInstance(workerState.phase()))
                .toList();
    }
}

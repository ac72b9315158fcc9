package org.horovod4j.launcher.driver;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Slot;
import org.junit.jupiter.api.RepeatedTest;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.SequencedMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/// Simulated elastic jobs: hosts come and go, workers start, die and stop answering at random, and
/// events arrive late. The decisions must stay consistent. When the faults end, all slots must be
/// used.
class DriverPropertyTest {
    private static final int MIN_WORKERS = 2;
    private static final int MAX_WORKERS = 6;
    private static final Duration TIMEOUT = Duration.ofHours(1);

    private final long seed = new Random().nextLong();
    private final Random random = new Random(seed);
    private final ElasticDriver elasticDriver =
            new ElasticDriver(
                    new ElasticLimits(
                            MIN_WORKERS, MIN_WORKERS, MAX_WORKERS, ElasticLimits.UNLIMITED),
                    TIMEOUT,
                    new Cooldown(Duration.ofSeconds(1), Duration.ofSeconds(8)));
    private final Map<Integer, Worker> alive = new TreeMap<>();
    private final Map<Integer, Integer> stateOf = new HashMap<>();
    private final Set<Integer> readyWorkers = new HashSet<>();
    private final Set<Integer> unresponsiveWorkers = new HashSet<>();
    private final Set<String> open = new HashSet<>();
    private final List<DriverEvent> delayedEvents = new ArrayList<>();
    private final List<String> history = new ArrayList<>();
    private Set<Integer> members = Set.of();
    private Duration now = Duration.ZERO;
    private int generation = -1;
    private boolean isResetRequested;
    private boolean isAborted;

    @RepeatedTest(200)
    void randomFaultsKeepInvariantsAndAllSlotsAreUsedAfterwards() {
        history.add("seed " + seed);
        handle(new DriverEvent.HostsDiscovered(List.of(new Host("a", 3), new Host("b", 3))));
        for (int round = 0; round < 300 && !isAborted; round++) {
            injectFault();
            step();
        }
        handle(new DriverEvent.HostsDiscovered(List.of(new Host("a", 3), new Host("b", 3))));
        for (int round = 0; round < 400 && !isAborted; round++) {
            step();
        }
        if (isAborted) { // events are late, so it may have kept dead workers
            assertThat(members).as(this::history).noneMatch(alive::containsKey);
            return;
        }
        assertThat(members).as(this::history).hasSize(MAX_WORKERS).isEqualTo(alive.keySet());
    }

    private void injectFault() {
        switch (random.nextInt(12)) {
            case 0 -> killRandomWorker();
            case 1 -> handle(new DriverEvent.HostsDiscovered(randomHosts()));
            case 2 -> loseHost("b");
            case 3 -> silenceRandomWorker();
            default -> {}
        }
    }

    /// Unless no worker with the state would be left.
    private void loseHost(String host) {
        Set<Integer> gone =
                alive.values().stream()
                        .filter(worker -> worker.host().equals(host))
                        .map(Worker::number)
                        .collect(Collectors.toSet());
        if (open.contains(host) && someMemberSurvives(gone)) {
            open.remove(host);
            gone.forEach(this::removeWorker);
            handle(new DriverEvent.HostLost(host, "cut off"));
        }
    }

    private List<Host> randomHosts() {
        List<Host> hosts = new ArrayList<>();
        for (String name : List.of("a", "b", "c")) {
            if (random.nextInt(3) > 0) {
                hosts.add(new Host(name, 1 + random.nextInt(3)));
            }
        }
        return hosts;
    }

    private void killRandomWorker() {
        for (int victim : randomVictim()) {
            removeWorker(victim);
            delayedEvents.add(new DriverEvent.WorkerExited(victim, true, "killed"));
        }
    }

    private void silenceRandomWorker() {
        for (int victim : randomVictim()) {
            unresponsiveWorkers.add(victim);
            handle(new DriverEvent.WorkerUnresponsive(victim, "silent"));
        }
    }

    /// Any worker, unless no other with the state would be left.
    private List<Integer> randomVictim() {
        List<Integer> all = new ArrayList<>(alive.keySet());
        Collections.shuffle(all, random);
        return all.stream().limit(1).filter(it -> someMemberSurvives(Set.of(it))).toList();
    }

    private boolean someMemberSurvives(Set<Integer> gone) {
        return members.stream()
                .anyMatch(
                        it ->
                                alive.containsKey(it)
                                        && !unresponsiveWorkers.contains(it)
                                        && !gone.contains(it));
    }

    private void removeWorker(int worker) {
        alive.remove(worker);
        readyWorkers.remove(worker);
    }

    /// Time passes: late events arrive, starting workers ask for a place, and workers whose
    /// generation is over return, some now and some later.
    private void step() {
        now = now.plusMillis(100 + random.nextInt(900));
        for (DriverEvent driverEvent : List.copyOf(delayedEvents)) {
            if (random.nextBoolean() && delayedEvents.remove(driverEvent)) {
                if (driverEvent instanceof DriverEvent.HostOpened(String host)) {
                    open.add(host);
                }
                handle(driverEvent);
            }
        }
        for (Worker worker : List.copyOf(alive.values())) {
            boolean isOver = isResetRequested || !alive.keySet().containsAll(members);
            boolean asks =
                    alive.containsKey(worker.number())
                            && !readyWorkers.contains(worker.number())
                            && (!members.contains(worker.number()) || isOver);
            if (asks && random.nextBoolean()) {
                readyWorkers.add(worker.number());
                boolean isLoss = !alive.keySet().containsAll(members);
                handle(
                        new DriverEvent.WorkerReady(
                                worker.number(),
                                stateOf.getOrDefault(worker.number(), -1),
                                isLoss && members.contains(worker.number()) ? "lost" : ""));
            }
        }
        handle(new DriverEvent.TimePassed());
    }

    private void handle(DriverEvent driverEvent) {
        if (isAborted) {
            return;
        }
        List<DriverAction> actions = elasticDriver.handle(driverEvent, now);
        if (!(driverEvent instanceof DriverEvent.TimePassed && actions.isEmpty())) {
            history.add(now + " " + driverEvent);
        }
        for (DriverAction driverAction : actions) {
            history.add("    " + driverAction);
            perform(driverAction);
        }
    }

    private void perform(DriverAction driverAction) {
        switch (driverAction) {
            case DriverAction.OpenHost(Host host) ->
                    delayedEvents.add(
                            generation >= 0 && random.nextInt(5) == 0
                                    ? new DriverEvent.HostNotReady(host.name(), "refused")
                                    : new DriverEvent.HostOpened(host.name()));
            case DriverAction.StartWorker(Worker worker) -> {
                assertThat(alive.values())
                        .as(this::history)
                        .noneMatch(
                                it ->
                                        it.host().equals(worker.host())
                                                && it.slot() == worker.slot());
                alive.put(worker.number(), worker);
            }
            case DriverAction.StartGeneration(
                            int number,
                            SequencedMap<Worker, Slot> places,
                            boolean sync) ->
                    checkGeneration(number, places, sync);
            case DriverAction.RequestReset() -> isResetRequested = true;
            case DriverAction.DismissWorker(Worker worker, String _) -> {
                if (alive.containsKey(worker.number())) { // else its exit event is pending
                    assertThat(readyWorkers).as(this::history).contains(worker.number());
                    removeWorker(worker.number());
                    delayedEvents.add(
                            new DriverEvent.WorkerExited(worker.number(), false, "exit code 0"));
                }
            }
            case DriverAction.KillWorker(Worker worker) -> {
                if (alive.containsKey(worker.number())) {
                    removeWorker(worker.number());
                    delayedEvents.add(
                            new DriverEvent.WorkerExited(worker.number(), true, "killed"));
                }
            }
            case DriverAction.AbortJob _ -> isAborted = true;
            case DriverAction.ReleaseHost(String host) -> open.remove(host);
            case DriverAction.FailJob _, DriverAction.AbortStart _ ->
                    throw new AssertionError("only a fixed job ends like this: " + driverAction);
            case DriverAction.Info _, DriverAction.Verbose _ -> {}
        }
    }

    private void checkGeneration(int number, SequencedMap<Worker, Slot> places, boolean sync) {
        assertThat(number).as(this::history).isEqualTo(generation + 1);
        assertThat(places.size()).as(this::history).isBetween(MIN_WORKERS, MAX_WORKERS);
        List<Integer> numbers = places.keySet().stream().map(Worker::number).toList();
        assertThat(members)
                .as("no worker is still in the last generation\n" + history())
                .filteredOn(alive::containsKey)
                .allMatch(readyWorkers::contains);
        int oldest =
                numbers.stream()
                        .filter(stateOf::containsKey)
                        .min(Integer::compare)
                        .orElse(numbers.stream().min(Integer::compare).orElseThrow());
        assertThat(numbers.getFirst()).as(this::history).isEqualTo(oldest);
        if (numbers.stream().anyMatch(it -> !stateOf.containsKey(it))) {
            assertThat(sync).as("new workers need the state\n" + history()).isTrue();
        }
        generation = number;
        members = new HashSet<>(numbers);
        isResetRequested = false;
        readyWorkers.removeAll(members);
        numbers.forEach(it -> stateOf.put(it, number));
    }

    private String history() {
        return String.join("\n", history);
    }
}

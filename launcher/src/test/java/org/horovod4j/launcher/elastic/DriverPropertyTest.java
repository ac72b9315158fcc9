package org.horovod4j.launcher.elastic;

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

/// Jobs in a world that is played: hosts come and go, workers start, die and fall silent at random,
/// and news of it are late. Whatever happens, decisions fit together; and once the world is calm,
/// all slots are in use.
class DriverPropertyTest {
    private static final int LEAST = 2;
    private static final int MOST = 6;
    private static final Duration PATIENCE = Duration.ofHours(1);

    private final long seed = new Random().nextLong();
    private final Random random = new Random(seed);
    private final Driver driver =
            new Driver(
                    new Limits(LEAST, LEAST, MOST, Limits.NONE),
                    PATIENCE,
                    new Cooldown(Duration.ofSeconds(1), Duration.ofSeconds(8)));
    private final Map<Integer, Worker> alive = new TreeMap<>();
    private final Map<Integer, Integer> stateOf = new HashMap<>();
    private final Set<Integer> asking = new HashSet<>();
    private final Set<Integer> silent = new HashSet<>();
    private final Set<String> open = new HashSet<>();
    private final List<Event> late = new ArrayList<>();
    private final List<String> story = new ArrayList<>();
    private Set<Integer> members = Set.of();
    private Duration now = Duration.ZERO;
    private int generation = -1;
    private boolean isCalledBack;
    private boolean hasGivenUp;

    @RepeatedTest(200)
    void decisionsFitTogetherAndACalmWorldIsUsedWhole() {
        story.add("seed " + seed);
        tell(new Event.Listed(List.of(new Host("a", 3), new Host("b", 3))));
        for (int round = 0; round < 300 && !hasGivenUp; round++) {
            disturb();
            step();
        }
        tell(new Event.Listed(List.of(new Host("a", 3), new Host("b", 3))));
        for (int round = 0; round < 400 && !hasGivenUp; round++) {
            step();
        }
        if (hasGivenUp) { // as news are late, it may have kept workers that were dead already
            assertThat(members).as(this::story).noneMatch(alive::containsKey);
            return;
        }
        assertThat(members).as(this::story).hasSize(MOST).isEqualTo(alive.keySet());
    }

    private void disturb() {
        switch (random.nextInt(12)) {
            case 0 -> kill();
            case 1 -> tell(new Event.Listed(hosts()));
            case 2 -> cutOff("b");
            case 3 -> fallSilent();
            default -> {}
        }
    }

    /// Unless that would leave nobody with the state.
    private void cutOff(String host) {
        Set<Integer> gone =
                alive.values().stream()
                        .filter(worker -> worker.host().equals(host))
                        .map(Worker::number)
                        .collect(Collectors.toSet());
        if (open.contains(host) && isSafe(gone)) {
            open.remove(host);
            gone.forEach(this::die);
            tell(new Event.HostLost(host, "cut off"));
        }
    }

    private List<Host> hosts() {
        List<Host> hosts = new ArrayList<>();
        for (String name : List.of("a", "b", "c")) {
            if (random.nextInt(3) > 0) {
                hosts.add(new Host(name, 1 + random.nextInt(3)));
            }
        }
        return hosts;
    }

    private void kill() {
        for (int victim : victims()) {
            die(victim);
            late.add(new Event.Ended(victim, true, "killed"));
        }
    }

    private void fallSilent() {
        for (int victim : victims()) {
            silent.add(victim);
            tell(new Event.Silent(victim, "silent"));
        }
    }

    /// Any one, unless nobody else would be left that has the state.
    private List<Integer> victims() {
        List<Integer> all = new ArrayList<>(alive.keySet());
        Collections.shuffle(all, random);
        return all.stream().limit(1).filter(it -> isSafe(Set.of(it))).toList();
    }

    private boolean isSafe(Set<Integer> gone) {
        return members.stream()
                .anyMatch(
                        it -> alive.containsKey(it) && !silent.contains(it) && !gone.contains(it));
    }

    private void die(int worker) {
        alive.remove(worker);
        asking.remove(worker);
    }

    /// A moment passes: late news arrive, workers that start ask for a place, and those whose
    /// generation is over come back, some now and some later.
    private void step() {
        now = now.plusMillis(100 + random.nextInt(900));
        for (Event event : List.copyOf(late)) {
            if (random.nextBoolean() && late.remove(event)) {
                if (event instanceof Event.HostOpened(String host)) {
                    open.add(host);
                }
                tell(event);
            }
        }
        for (Worker worker : List.copyOf(alive.values())) {
            boolean isOver = isCalledBack || !alive.keySet().containsAll(members);
            boolean asks =
                    alive.containsKey(worker.number())
                            && !asking.contains(worker.number())
                            && (!members.contains(worker.number()) || isOver);
            if (asks && random.nextBoolean()) {
                asking.add(worker.number());
                boolean isLoss = !alive.keySet().containsAll(members);
                tell(
                        new Event.Ready(
                                worker.number(),
                                stateOf.getOrDefault(worker.number(), -1),
                                isLoss && members.contains(worker.number()) ? "lost" : ""));
            }
        }
        tell(new Event.Passed());
    }

    private void tell(Event event) {
        if (hasGivenUp) {
            return;
        }
        List<Action> actions = driver.on(event, now);
        if (!(event instanceof Event.Passed && actions.isEmpty())) {
            story.add(now + " " + event);
        }
        for (Action action : actions) {
            story.add("    " + action);
            obey(action);
        }
    }

    private void obey(Action action) {
        switch (action) {
            case Action.Open(Host host) ->
                    late.add(
                            generation >= 0 && random.nextInt(5) == 0
                                    ? new Event.HostRefused(host.name(), "refused")
                                    : new Event.HostOpened(host.name()));
            case Action.Start(Worker worker) -> {
                assertThat(alive.values())
                        .as(this::story)
                        .noneMatch(
                                it ->
                                        it.host().equals(worker.host())
                                                && it.slot() == worker.slot());
                alive.put(worker.number(), worker);
            }
            case Action.Form(int number, SequencedMap<Worker, Slot> places, boolean sync) ->
                    form(number, places, sync);
            case Action.CallBack() -> isCalledBack = true;
            case Action.Dismiss(Worker worker, String _) -> {
                if (alive.containsKey(worker.number())) { // else news of its end are under way
                    assertThat(asking).as(this::story).contains(worker.number());
                    die(worker.number());
                    late.add(new Event.Ended(worker.number(), false, "exit code 0"));
                }
            }
            case Action.Kill(Worker worker) -> {
                if (alive.containsKey(worker.number())) {
                    die(worker.number());
                    late.add(new Event.Ended(worker.number(), true, "killed"));
                }
            }
            case Action.GiveUp _ -> hasGivenUp = true;
            case Action.Release(String host) -> open.remove(host);
            case Action.Say _, Action.Explain _ -> {}
        }
    }

    private void form(int number, SequencedMap<Worker, Slot> places, boolean sync) {
        assertThat(number).as(this::story).isEqualTo(generation + 1);
        assertThat(places.size()).as(this::story).isBetween(LEAST, MOST);
        List<Integer> numbers = places.keySet().stream().map(Worker::number).toList();
        assertThat(members)
                .as("nobody still works in the last generation\n" + story())
                .filteredOn(alive::containsKey)
                .allMatch(asking::contains);
        int oldest =
                numbers.stream()
                        .filter(stateOf::containsKey)
                        .min(Integer::compare)
                        .orElse(numbers.stream().min(Integer::compare).orElseThrow());
        assertThat(numbers.getFirst()).as(this::story).isEqualTo(oldest);
        if (numbers.stream().anyMatch(it -> !stateOf.containsKey(it))) {
            assertThat(sync).as("new workers need the state\n" + story()).isTrue();
        }
        generation = number;
        members = new HashSet<>(numbers);
        isCalledBack = false;
        asking.removeAll(members);
        numbers.forEach(it -> stateOf.put(it, number));
    }

    private String story() {
        return String.join("\n", story);
    }
}

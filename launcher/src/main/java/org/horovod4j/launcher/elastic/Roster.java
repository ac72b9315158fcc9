package org.horovod4j.launcher.elastic;

import org.horovod4j.launcher.elastic.Member.Leaving;
import org.horovod4j.launcher.elastic.Member.Phase;
import org.horovod4j.launcher.elastic.Member.Ready;
import org.horovod4j.launcher.elastic.Member.Starting;
import org.horovod4j.launcher.elastic.Member.Working;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.UnaryOperator;

/// The live workers, by number.
final class Roster {
    private final Map<Integer, Member> members = new TreeMap<>();
    private int started;

    /// A new worker for a slot, with the next number.
    Worker enrol(String host, int slot) {
        Worker worker = new Worker(started++, host, slot);
        members.put(worker.number(), Member.starting(worker));
        return worker;
    }

    Optional<Member> find(int number) {
        return Optional.ofNullable(members.get(number));
    }

    void change(Worker worker, UnaryOperator<Member> change) {
        members.computeIfPresent(worker.number(), (_, member) -> change.apply(member));
    }

    /// The worker is told to end.
    void leaves(Worker worker) {
        change(worker, Member::leaving);
    }

    Optional<Member> remove(int number) {
        return Optional.ofNullable(members.remove(number));
    }

    boolean isEmpty() {
        return members.isEmpty();
    }

    List<Member> on(String host) {
        return members.values().stream()
                .filter(member -> member.worker().host().equals(host))
                .toList();
    }

    boolean occupies(String host, int slot) {
        return on(host).stream().anyMatch(member -> member.worker().slot() == slot);
    }

    List<Member> starting() {
        return in(Starting.class);
    }

    /// Those that wait for a place, the senior one first.
    List<Member> ready() {
        return in(Ready.class).stream().sorted(Member.SENIORITY).toList();
    }

    List<Member> working() {
        return in(Working.class);
    }

    /// All that were not told to end.
    List<Member> staying() {
        return members.values().stream()
                .filter(member -> !(member.phase() instanceof Leaving))
                .toList();
    }

    /// Since when the first of these has been waiting for a place.
    static Optional<Duration> firstCame(List<Member> members) {
        return members.stream()
                .map(Member::phase)
                .filter(Ready.class::isInstance)
                .map(phase -> ((Ready) phase).since())
                .min(Duration::compareTo);
    }

    private List<Member> in(Class<? extends Phase> phase) {
        return members.values().stream()
                .filter(member -> phase.isInstance(member.phase()))
                .toList();
    }
}

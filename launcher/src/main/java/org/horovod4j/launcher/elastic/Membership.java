package org.horovod4j.launcher.elastic;

import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Slot;
import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;

/// Decides who belongs to an elastic job.
///
/// A *generation* is a world of some workers. It ends when one of them is lost, or when all were called
/// back because hosts came or went; then every worker that is left asks for a place in the next.
///
/// - Survivors never wait for a process to start: they go on at once if they are enough. New workers
///   come up beside them, and all are called back only when these are ready, which takes the time of
///   a commit and not that of a start.
/// - Whoever was in no generation has no state. A job that has lost all others cannot go on.
/// - Workers on a host that is no longer listed stay until there are enough without them, and until
///   somebody else has the state.
///
/// Not safe for use by several threads: the one that runs the job owns it.
public final class Membership {
    /// How long workers that are ready wait for others that are starting, to come in together.
    static final Duration GATHERING = Duration.ofSeconds(5);

    /// How long a worker may be silent before it is killed: one that dies is heard of in between.
    static final Duration SILENCE = Duration.ofSeconds(2);

    /// A worker that failed, and how.
    public record Failure(Worker worker, String how) {}

    /// @param isKilled whether it was killed for it
    private record Silence(String how, Duration since, boolean isKilled) {}

    private final Limits limits;
    private final Duration patience;
    private final Blacklist blacklist;
    private final HostPool hosts = new HostPool();
    private final Roster roster = new Roster();
    private final Map<Integer, Silence> silences = new HashMap<>();
    private final Set<String> blacklisted = new HashSet<>();
    private List<Action> actions = new ArrayList<>();
    private int generation = -1;
    private int resets;
    private boolean isCalledBack;
    private boolean isBroken;
    private boolean isFinishing;
    private boolean hasGivenUp;
    private boolean anyHadState;
    private boolean isShortTold;
    private @Nullable Duration idleSince = Duration.ZERO;
    private @Nullable Failure failure;

    /// A job that knows no hosts yet.
    ///
    /// @param patience how long the job waits for enough workers
    public Membership(Limits limits, Duration patience, Cooldown cooldown) {
        this.limits = limits;
        this.patience = patience;
        this.blacklist = new Blacklist(cooldown);
    }

    /// Takes in what has happened.
    ///
    /// @param now the time since the start of the job, never less than before
    /// @return what to do, in this order
    public List<Action> on(Event event, Duration now) {
        actions = new ArrayList<>();
        switch (event) {
            case Event.Listed(List<Host> found) -> listed(found);
            case Event.HostOpened(String host) -> hosts.opened(host);
            case Event.HostRefused(String host, String reason) -> refused(host, reason, now);
            case Event.HostLost(String host, String reason) -> lost(host, reason, now);
            case Event.Ready(int worker, int from, String why) -> ready(worker, from, why, now);
            case Event.Silent(int worker, String how) ->
                    silences.putIfAbsent(worker, new Silence(how, now, false));
            case Event.Ended(int worker, boolean failed, String how) ->
                    ended(worker, failed, how, now);
            case Event.Passed() -> {}
        }
        if (!hasGivenUp) {
            decide(now);
        }
        return actions;
    }

    /// Whether no worker is left and none will come.
    public boolean isOver() {
        return (isFinishing || hasGivenUp) && roster.isEmpty();
    }

    /// The first worker to fail in the generation that is the last so far.
    public Optional<Failure> failure() {
        return Optional.ofNullable(failure);
    }

    private void listed(List<Host> found) {
        boolean isFirst = hosts.listed().isEmpty();
        if (found.isEmpty()) {
            say(
                    isFirst
                            ? "no host is listed yet; the job waits for some"
                            : "no host is listed any more; the job goes on with those it has");
            return;
        }
        String changes = hosts.update(found);
        if (!changes.isEmpty()) {
            actions.add(
                    isFirst
                            ? new Action.Explain("hosts: " + changes)
                            : new Action.Say("hosts: " + changes));
        }
    }

    private void refused(String host, String reason, Duration now) {
        hosts.closed(host);
        say("host %s is not ready: %s\n  %s".formatted(host, reason, ban(host, now)));
    }

    private void lost(String host, String reason, Duration now) {
        if (!hosts.isOpen(host)) {
            return; // it was let go, and may be on its way back
        }
        hosts.closed(host);
        List<Member> gone = roster.on(host);
        if (gone.isEmpty()) {
            explain("lost contact with host %s, which has no workers".formatted(host));
            return;
        }
        for (Member member : gone) {
            roster.remove(member.worker().number());
            noteLoss(member, "contact with its host was lost");
        }
        say(
                "lost contact with host %s (%s): %s. %s"
                        .formatted(host, numbers(gone), reason, ban(host, now)));
    }

    private void ready(int number, int from, String why, Duration now) {
        silences.remove(number);
        Member member = roster.find(number).orElse(null);
        if (member == null || member.phase() instanceof Member.Leaving) {
            return; // it is being ended
        }
        if (!why.isEmpty()) {
            isBroken = true;
            explain("%s comes back: %s".formatted(member, why.lines().findFirst().orElse("")));
        }
        anyHadState |= from >= 0;
        roster.change(member.worker(), before -> before.ready(from, why, now));
    }

    private void ended(int number, boolean failed, String how, Duration now) {
        Silence silence = silences.remove(number);
        Member member = roster.remove(number).orElse(null);
        if (member == null) {
            return; // its host was lost before
        }
        if (member.phase() instanceof Member.Leaving || hasGivenUp) {
            explain("%s has left: %s".formatted(member, how));
        } else if (failed || !isEndOfTraining(member)) {
            String story = story(silence, failed, how);
            noteLoss(member, story);
            say("%s failed: %s.%s".formatted(member, story, consequence(member.worker(), now)));
        } else {
            isFinishing = true;
            explain("%s has finished".formatted(member));
        }
    }

    private static String story(@Nullable Silence silence, boolean failed, String how) {
        if (!failed) {
            return "it ended before it had a part in the training, with " + how;
        }
        return silence != null && silence.isKilled ? silence.how + ", so it was killed" : how;
    }

    /// Whether the job is done when this one ends well. Of those that come to a training that runs, one that
    /// ends before it had any part in it knows nothing of its end. Before the first generation the program
    /// may be one that asks for no place.
    private boolean isEndOfTraining(Member member) {
        return member.hasServed() || generation < 0;
    }

    /// A worker that was in no generation, or was told to end, is missed by nobody.
    private void noteLoss(Member member, String how) {
        if (member.phase() instanceof Member.Leaving) {
            return;
        }
        isBroken |= member.hasServed();
        if (failure == null && (member.hasServed() || generation < 0)) {
            failure = new Failure(member.worker(), how);
        }
    }

    private String consequence(Worker worker, Duration now) {
        if (isFinishing) {
            return "";
        }
        return blacklist
                .failed(worker, now)
                .map(length -> " Twice on this slot: " + banned(worker.host(), length))
                .orElse(" Its slot gets another try.");
    }

    private String ban(String host, Duration now) {
        return banned(host, blacklist.ban(host, now));
    }

    private String banned(String host, Duration length) {
        blacklisted.add(host);
        return "Host %s is blacklisted: nothing is started there for %d s."
                .formatted(host, length.toSeconds());
    }

    private void decide(Duration now) {
        if (isFinishing) {
            finish(now);
        } else if (isHopeful(now)) {
            form(now);
            if (!hasGivenUp) {
                release();
                start(now);
                callBack(now);
                watch(now);
            }
        }
    }

    /// The others end by themselves; whoever comes for another place is too late.
    private void finish(Duration now) {
        String reason = "the training has ended";
        roster.ready().forEach(member -> dismiss(member, reason));
        if (generation >= 0) { // else the program may be one that asks for no place
            roster.starting().forEach(this::kill);
        }
        killSilent(now);
    }

    private boolean isHopeful(Duration now) {
        if (generation >= 0 && roster.staying().stream().noneMatch(Member::hasServed)) {
            giveUp("all workers are lost, and the state of the training with them");
        } else if (generation < 0
                && roster.isEmpty()
                && !hosts.listed().isEmpty()
                && hosts.listed().stream().allMatch(host -> blacklist.bars(host.name(), now))) {
            giveUp("no host is left: all are blacklisted before the training has begun");
        }
        return !hasGivenUp;
    }

    /// Makes the next generation, as soon as nobody works in the last and enough are there.
    private void form(Duration now) {
        List<Member> ready = roster.ready();
        boolean hasBegun = generation >= 0;
        List<Member> chosen = chosen(ready, hasBegun);
        if (!roster.working().isEmpty()
                || chosen.size() < (hasBegun ? limits.least() : limits.first())
                || (!hasBegun && !isGathered(chosen, now))) {
            return;
        }
        if (anyHadState && chosen.stream().noneMatch(Member::hasState)) {
            giveUp("the workers that are left never got the state of the training");
        } else if (hasBegun && resets == limits.resets()) {
            giveUp(
                    "its workers have changed %d times, which is all that --reset-limit allows"
                            .formatted(resets));
        } else {
            form(ready, chosen);
        }
    }

    private void form(List<Member> ready, List<Member> chosen) {
        boolean sync =
                !chosen.stream().allMatch(member -> member.comesInOrderFrom(generation))
                        || generation < 0;
        resets += generation < 0 ? 0 : 1;
        generation++;
        SequencedMap<Worker, Slot> places =
                Assignment.of(chosen.stream().map(Member::worker).toList());
        say(Wording.of(generation, chosen, sync) + because());
        places.forEach((worker, slot) -> roster.change(worker, it -> it.working(slot.rank())));
        actions.add(new Action.Form(generation, places, sync));
        for (Member member : ready) {
            if (!chosen.contains(member)) {
                dismiss(member, hosts.admits(member.worker()) ? "--max-np" : "its host is gone");
            }
        }
        isCalledBack = false;
        isBroken = false;
        failure = null;
        idleSince = null;
    }

    private String because() {
        return failure == null
                ? ""
                : ", after the loss of worker %d".formatted(failure.worker.number());
    }

    /// Those that belong to the next generation. Of the ones that should go, as many stay as are needed
    /// to be enough, and one if nobody else was in a generation yet.
    private List<Member> chosen(List<Member> ready, boolean hasBegun) {
        List<Member> chosen =
                new ArrayList<>(
                        ready.stream()
                                .filter(member -> hosts.admits(member.worker()))
                                .limit(limits.most())
                                .toList());
        int enough = hasBegun ? limits.least() : limits.first();
        for (Member member : ready) {
            boolean isNeeded =
                    chosen.size() < enough
                            || (hasBegun && chosen.stream().noneMatch(Member::hasServed));
            if (isNeeded && !hosts.admits(member.worker())) {
                chosen.add(member);
            }
        }
        return chosen.stream().sorted(Member.SENIORITY).limit(limits.most()).toList();
    }

    /// Whether those that are ready need not wait for more: nobody else is on the way, or for too long.
    private boolean isGathered(List<Member> ready, Duration now) {
        return (roster.starting().isEmpty() && !hosts.anyOpening())
                || Roster.firstCame(ready)
                        .filter(since -> now.minus(since).compareTo(GATHERING) >= 0)
                        .isPresent();
    }

    private void release() {
        for (String host : hosts.stale()) {
            if (roster.on(host).isEmpty()) {
                hosts.closed(host);
                actions.add(new Action.Release(host));
            }
        }
    }

    /// Fills free slots. After a loss the survivors come first, as a start takes their processors.
    private void start(Duration now) {
        if (generation >= 0
                && (resets == limits.resets() || (isBroken && !roster.working().isEmpty()))) {
            return;
        }
        long wanted =
                limits.most()
                        - roster.staying().stream()
                                .filter(member -> hosts.admits(member.worker()))
                                .count();
        for (Host host : hosts.listed()) {
            if (wanted <= 0) {
                return;
            }
            if (!blacklist.bars(host.name(), now)) {
                wanted -= start(host, wanted, now);
            }
        }
    }

    /// Fills the free slots of a host, or makes it ready for that.
    ///
    /// @return how many workers the host gets, now or when it is ready
    private int start(Host host, long wanted, Duration now) {
        if (blacklisted.remove(host.name())) {
            say("host %s is tried again".formatted(host.name()));
        }
        if (hosts.isClosed(host.name())) {
            hosts.opening(host.name());
            actions.add(new Action.Open(host));
        }
        int count = 0;
        for (int slot = 0; slot < host.slots() && count < wanted; slot++) {
            if (!roster.occupies(host.name(), slot)) {
                count++;
                if (hosts.isOpen(host.name()) && !blacklist.rests(host.name(), slot, now)) {
                    actions.add(new Action.Start(roster.enrol(host.name(), slot)));
                }
            }
        }
        return count;
    }

    /// Has all workers come back if the next generation would be another one than this.
    private void callBack(Duration now) {
        List<Member> working = roster.working();
        if (working.isEmpty() || isCalledBack || isBroken || resets == limits.resets()) {
            return;
        }
        List<Member> staying =
                working.stream().filter(member -> hosts.admits(member.worker())).toList();
        List<Member> joining =
                roster.ready().stream()
                        .filter(member -> hosts.admits(member.worker()))
                        .limit(Math.max(0, limits.most() - staying.size()))
                        .toList();
        boolean isGrowing = !joining.isEmpty() && isGathered(joining, now);
        boolean isShrinking = staying.size() < working.size();
        boolean isEnough =
                staying.size() + joining.size() >= limits.least()
                        && (!staying.isEmpty() || isGrowing);
        if (isGrowing || (isShrinking && isEnough)) {
            isCalledBack = true;
            explain(
                    "%d workers are called back at their next commit: %d join, %d leave"
                            .formatted(
                                    working.size(),
                                    joining.size(),
                                    working.size() - staying.size()));
            actions.add(new Action.CallBack());
        } else if (isShrinking && !isShortTold) {
            say(
                    ("without the hosts that are gone there would be %d workers, and --min-np is %d:"
                                    + " they stay until others come")
                            .formatted(staying.size() + joining.size(), limits.least()));
        }
        isShortTold = isShrinking;
    }

    /// Ends what would never end by itself.
    private void watch(Duration now) {
        killSilent(now);
        if (roster.working().isEmpty()) {
            watchIdle(now);
        } else {
            watchStragglers(now);
        }
    }

    private void killSilent(Duration now) {
        silences.replaceAll(
                (number, silence) -> {
                    Member member = roster.find(number).orElse(null);
                    if (member == null
                            || silence.isKilled
                            || now.minus(silence.since).compareTo(SILENCE) < 0) {
                        return silence;
                    }
                    actions.add(new Action.Kill(member.worker()));
                    return new Silence(silence.how, silence.since, true);
                });
    }

    private void watchIdle(Duration now) {
        if (idleSince == null) {
            idleSince = now;
        }
        if (now.minus(idleSince).compareTo(patience) >= 0) {
            giveUp(
                    ("after %d s %d workers are ready, and it needs %d. Hosts: %s. Find more of them, or"
                                    + " raise --elastic-timeout")
                            .formatted(
                                    patience.toSeconds(),
                                    roster.ready().size(),
                                    generation < 0 ? limits.first() : limits.least(),
                                    Wording.of(hosts.listed())));
        }
    }

    /// Kills workers that do not come back although others of their generation did long ago.
    private void watchStragglers(Duration now) {
        boolean isLate =
                Roster.firstCame(roster.ready().stream().filter(Member::hasServed).toList())
                        .filter(since -> now.minus(since).compareTo(patience) >= 0)
                        .isPresent();
        if (isLate) {
            for (Member member : roster.working()) {
                silences.putIfAbsent(
                        member.worker().number(),
                        new Silence(
                                "it did not come back as the others did", Duration.ZERO, false));
            }
        }
    }

    private void dismiss(Member member, String reason) {
        roster.change(member.worker(), Member::leaving);
        actions.add(new Action.Dismiss(member.worker(), reason));
    }

    private void kill(Member member) {
        roster.change(member.worker(), Member::leaving);
        actions.add(new Action.Kill(member.worker()));
    }

    private void giveUp(String reason) {
        hasGivenUp = true;
        actions.add(new Action.GiveUp(reason));
    }

    private void say(String text) {
        actions.add(new Action.Say(text));
    }

    private void explain(String text) {
        actions.add(new Action.Explain(text));
    }

    private static String numbers(List<Member> members) {
        return Wording.numbers(members.stream().map(Member::worker).toList());
    }
}

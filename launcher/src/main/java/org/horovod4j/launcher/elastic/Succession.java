package org.horovod4j.launcher.elastic;

import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Slot;
import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.List;
import java.util.SequencedMap;

/// Lets one generation follow the other: forms the next when the last is over, and ends the last
/// when the next would be better.
///
/// Survivors of a loss never wait for a process to start. They go on at once if they are enough;
/// new workers come up beside them, and all are called back only when these are ready, which takes
/// the time of a commit and not that of a start.
final class Succession {
    private final Limits limits;
    private final Duration patience;
    private final HostPool hosts;
    private final Roster roster;
    private final Course course;
    private final Decisions decisions;
    private final Muster muster;
    private boolean isCalledBack;
    private boolean isShortTold;
    private boolean isWaitTold;
    private @Nullable Duration idleSince = Duration.ZERO;

    /// @param patience how long the job waits for enough workers
    Succession(
            Limits limits,
            Duration patience,
            HostPool hosts,
            Roster roster,
            Course course,
            Decisions decisions) {
        this.limits = limits;
        this.patience = patience;
        this.hosts = hosts;
        this.roster = roster;
        this.course = course;
        this.decisions = decisions;
        this.muster = new Muster(limits, hosts, roster, course);
    }

    /// Makes the next generation, as soon as nobody works in the last and enough are there.
    void form(Duration now) {
        boolean isFirst = !course.hasBegun();
        List<Member> chosen = muster.chosen(isFirst);
        if (!roster.working().isEmpty()
                || chosen.size() < limits.enough(isFirst)
                || (isFirst && !muster.isGathered(chosen, now))) {
            return;
        }
        if (course.anyHadState() && chosen.stream().noneMatch(Member::hasState)) {
            course.giveUp(
                    "the workers that are left never got the state of the training. Start it"
                            + " again from a checkpoint");
        } else if (!course.mayGoOn()) {
            course.giveUp(
                    ("its workers have changed %d times, which is all that --reset-limit allows. Raise"
                                    + " it, or leave it out")
                            .formatted(course.resets()));
        } else {
            form(chosen);
        }
    }

    private void form(List<Member> chosen) {
        boolean sync =
                !course.hasBegun()
                        || !chosen.stream()
                                .allMatch(it -> it.comesInOrderFrom(course.generation()));
        String because = because();
        course.advance();
        isCalledBack = false;
        idleSince = null;
        isWaitTold = false;
        decisions.say(Wording.of(course.generation(), chosen, sync) + because);
        SequencedMap<Worker, Slot> places =
                Ranking.of(chosen.stream().map(Member::worker).toList());
        places.forEach((worker, slot) -> roster.change(worker, it -> it.working(slot.rank())));
        decisions.add(new Action.Form(course.generation(), places, sync));
        roster.ready().forEach(this::leaveOut);
    }

    private String because() {
        return course.failure()
                .map(it -> ", after the loss of worker %d".formatted(it.worker().number()))
                .orElse("");
    }

    private void leaveOut(Member member) {
        roster.leaves(member.worker());
        String reason =
                hosts.admits(member.worker())
                        ? "there are as many workers as --max-np allows"
                        : "its host is gone";
        decisions.add(new Action.Dismiss(member.worker(), reason));
    }

    /// Has all workers come back if the next generation would be another one than this. Else nobody
    /// waits for a generation that may never come.
    void callBack(Duration now) {
        if (roster.working().isEmpty() || isCalledBack || course.isBroken() || !course.mayGoOn()) {
            return;
        }
        Muster.Change change = muster.change(now);
        if (change.isDue()) {
            isCalledBack = true;
            decisions.explain(
                    "%d workers are called back at their next commit: %d join, %d leave"
                            .formatted(
                                    change.working(),
                                    change.joining(),
                                    change.working() - change.staying()));
            decisions.add(new Action.CallBack());
        } else {
            muster.spare().forEach(this::leaveOut);
            if (change.isShrinking() && !isShortTold) {
                decisions.say(
                        ("without the hosts that are gone there would be %d workers, and --min-np is"
                                        + " %d: they stay until others come")
                                .formatted(change.size(), limits.least()));
            }
        }
        isShortTold = change.isShrinking();
    }

    /// Tells of a job that waits for slots, and ends one that has waited for enough workers for too
    /// long. To be called while nobody works.
    void watchIdle(Duration now) {
        if (idleSince == null) {
            idleSince = now;
        }
        int needed = limits.enough(!course.hasBegun());
        int slots = hosts.listed().stream().mapToInt(Host::slots).sum();
        if (!isWaitTold && slots > 0 && slots < needed) {
            isWaitTold = true;
            decisions.say(
                    "the job needs %d workers, and its hosts have slots for %d (%s): it waits for more, %d s at most"
                            .formatted(
                                    needed,
                                    slots,
                                    Wording.of(hosts.listed()),
                                    patience.toSeconds()));
        }
        if (now.minus(idleSince).compareTo(patience) >= 0) {
            course.giveUp(
                    ("after %d s %d workers are ready, and it needs %d. Hosts: %s. Find more of them, or"
                                    + " raise --elastic-timeout")
                            .formatted(
                                    patience.toSeconds(),
                                    roster.ready().size(),
                                    needed,
                                    Wording.of(hosts.listed())));
        }
    }
}

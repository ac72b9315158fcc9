package org.horovod4j.launcher.elastic;

import org.horovod4j.launcher.plan.Host;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/// Decides who belongs to an elastic job.
///
/// A *generation* is a world of some workers. It ends when one of them is lost, or when all were
/// called back because hosts came or went; then every worker that is left asks for a place in the
/// next.
///
/// Its parts answer one question each: [Succession] who is in the next, [Recruiting] who is
/// started, [Vigil] who is killed. [Course] is what they all know.
///
/// Not safe for use by several threads: the one that runs the job owns it.
public final class Driver {
    /// A worker that failed, and how.
    public record Failure(Worker worker, String how) {}

    private final Duration patience;
    private final Blacklist blacklist;
    private final HostPool hosts = new HostPool();
    private final Roster roster = new Roster();
    private final Vigil vigil = new Vigil();
    private final Decisions decisions = new Decisions();
    private final Course course;
    private final Succession succession;
    private final Recruiting recruiting;

    /// A job that knows no hosts yet.
    ///
    /// @param patience how long the job waits for enough workers
    public Driver(Limits limits, Duration patience, Cooldown cooldown) {
        this.patience = patience;
        this.blacklist = new Blacklist(cooldown);
        this.course = new Course(limits, decisions);
        this.succession = new Succession(limits, patience, hosts, roster, course, decisions);
        this.recruiting = new Recruiting(limits, hosts, blacklist, roster, decisions);
    }

    /// Takes in what has happened.
    ///
    /// @param now the time since the start of the job, never less than before
    /// @return what to do, in this order
    public List<Action> on(Event event, Duration now) {
        switch (event) {
            case Event.Listed(List<Host> found) -> listed(found);
            case Event.HostOpened(String host) -> hosts.opened(host);
            case Event.HostRefused(String host, String reason) -> refused(host, reason, now);
            case Event.HostLost(String host, String reason) -> lost(host, reason, now);
            case Event.Ready(int worker, int from, String why) -> ready(worker, from, why, now);
            case Event.Silent(int worker, String how) -> silent(worker, how, now);
            case Event.Ended(int worker, boolean failed, String how) ->
                    ended(worker, failed, how, now);
            case Event.Passed() -> {}
        }
        if (!course.hasGivenUp()) {
            decide(now);
        }
        return decisions.take();
    }

    /// Whether no worker is left and none will come.
    public boolean isOver() {
        return (course.isFinishing() || course.hasGivenUp()) && roster.isEmpty();
    }

    /// The first worker to fail in the generation that is the last so far.
    public Optional<Failure> failure() {
        return course.failure();
    }

    private void listed(List<Host> found) {
        boolean isFirst = hosts.listed().isEmpty();
        if (found.isEmpty()) {
            decisions.say(
                    isFirst
                            ? "no host is listed yet; the job waits for some"
                            : "no host is listed any more; the job goes on with those it has");
            return;
        }
        String changes = hosts.update(found);
        if (!changes.isEmpty()) {
            String text = "hosts: " + changes;
            decisions.add(isFirst ? new Action.Explain(text) : new Action.Say(text));
        }
    }

    private void refused(String host, String reason, Duration now) {
        hosts.closed(host);
        decisions.say("host %s is not ready: %s\n  %s".formatted(host, reason, ban(host, now)));
    }

    private void lost(String host, String reason, Duration now) {
        if (!hosts.isOpen(host)) {
            return; // it was let go, and may be on its way back
        }
        hosts.closed(host);
        List<Member> gone = roster.on(host);
        if (gone.isEmpty()) {
            decisions.explain("lost contact with host %s, which has no workers".formatted(host));
            return;
        }
        for (Member member : gone) {
            int number = member.worker().number();
            roster.remove(number);
            vigil.heard(number);
            course.lost(member, "contact with its host was lost");
        }
        decisions.say(
                "lost contact with host %s (%s): %s. %s"
                        .formatted(host, Wording.numbers(gone), reason, ban(host, now)));
    }

    private void ready(int number, int from, String why, Duration now) {
        vigil.heard(number);
        Member member = roster.find(number).orElse(null);
        if (member == null || member.phase() instanceof Member.Leaving) {
            return; // it is being ended
        }
        if (!why.isEmpty()) {
            decisions.explain(
                    "%s comes back: %s".formatted(member, why.lines().findFirst().orElse("")));
        }
        course.cameBack(from, why);
        roster.change(member.worker(), before -> before.ready(from, why, now));
    }

    private void silent(int number, String how, Duration now) {
        if (roster.find(number).isPresent()) { // else it is known to be gone
            vigil.silent(number, how, now);
        }
    }

    private void ended(int number, boolean failed, String how, Duration now) {
        Optional<String> killedFor = vigil.ended(number);
        Member member = roster.remove(number).orElse(null);
        if (member == null) {
            return; // its host was lost before
        }
        if (member.phase() instanceof Member.Leaving || course.hasGivenUp()) {
            decisions.explain("%s has left: %s".formatted(member, how));
        } else if (failed || !isEndOfTraining(member)) {
            String story =
                    failed
                            ? killedFor.map(silence -> silence + ", so it was killed").orElse(how)
                            : "it ended before it had a part in the training, with " + how;
            course.lost(member, story);
            decisions.say(
                    "%s failed: %s.%s".formatted(member, story, consequence(member.worker(), now)));
        } else {
            course.finish();
            decisions.explain("%s has finished".formatted(member));
        }
    }

    /// Whether the job is done when this one ends well. Of those that come to a training that runs,
    /// one that ends before it had any part in it knows nothing of its end. Before the first
    /// generation the program may be one that asks for no place.
    private boolean isEndOfTraining(Member member) {
        return member.hasServed() || !course.hasBegun();
    }

    private String consequence(Worker worker, Duration now) {
        if (course.isFinishing()) {
            return "";
        }
        return blacklist
                .failed(worker, now)
                .map(length -> " Twice on this slot: " + Wording.ban(worker.host(), length))
                .orElse(" Its slot gets another try.");
    }

    private String ban(String host, Duration now) {
        return Wording.ban(host, blacklist.ban(host, now));
    }

    private void decide(Duration now) {
        if (course.isFinishing()) {
            finish(now);
        } else if (isHopeful(now)) {
            succession.form(now);
            if (!course.hasGivenUp()) {
                recruiting.release();
                recruit(now);
                succession.callBack(now);
                watch(now);
            }
        }
    }

    /// The others end by themselves; whoever comes for another place is too late.
    private void finish(Duration now) {
        roster.ready().forEach(member -> dismiss(member, "the training has ended"));
        if (course.hasBegun()) { // else the program may be one that asks for no place
            roster.starting().forEach(this::kill);
        }
        killSilent(now);
    }

    private boolean isHopeful(Duration now) {
        if (course.hasBegun() && roster.staying().stream().noneMatch(Member::hasServed)) {
            course.giveUp(
                    "all workers are lost, and the state of the training with them. Start it again from"
                            + " a checkpoint");
        } else if (!course.hasBegun()
                && roster.isEmpty()
                && !hosts.listed().isEmpty()
                && hosts.listed().stream().allMatch(host -> blacklist.bars(host.name(), now))) {
            course.giveUp(
                    "no host is left: all are blacklisted before the training has begun. Try the command"
                            + " by itself on one of them");
        }
        return !course.hasGivenUp();
    }

    /// After a loss the survivors come first, as a start takes their processors.
    private void recruit(Duration now) {
        boolean isRecovering = course.isBroken() && !roster.working().isEmpty();
        if (course.mayGoOn() && !isRecovering) {
            recruiting.fill(now);
        }
    }

    /// Ends what would never end by itself.
    private void watch(Duration now) {
        killSilent(now);
        if (roster.working().isEmpty()) {
            succession.watchIdle(now);
        } else {
            watchStragglers(now);
        }
    }

    private void killSilent(Duration now) {
        for (int number : vigil.due(now)) {
            roster.find(number)
                    .ifPresent(member -> decisions.add(new Action.Kill(member.worker())));
        }
    }

    /// Kills workers that do not come back although others of their generation did long ago.
    private void watchStragglers(Duration now) {
        boolean isLate =
                Roster.firstCame(roster.ready().stream().filter(Member::hasServed).toList())
                        .filter(since -> now.minus(since).compareTo(patience) >= 0)
                        .isPresent();
        if (isLate) {
            roster.working().forEach(member -> vigil.late(member.worker().number(), now));
        }
    }

    private void dismiss(Member member, String reason) {
        roster.leaves(member.worker());
        decisions.add(new Action.Dismiss(member.worker(), reason));
    }

    private void kill(Member member) {
        roster.leaves(member.worker());
        decisions.add(new Action.Kill(member.worker()));
    }
}

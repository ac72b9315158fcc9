package org.horovod4j.launcher.elastic;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/// Who would be in the next generation, and whether it is time for one.
///
/// Workers on a host that is no longer listed count as long as there are too few without them, and
/// one of them as long as nobody else has the state: whoever was lost before it arrived has not.
final class Muster {
    /// How long workers that are ready wait for others that are starting, to come in together.
    static final Duration GATHERING = Duration.ofSeconds(5);

    private final Limits limits;
    private final HostPool hosts;
    private final Roster roster;
    private final Course course;

    Muster(Limits limits, HostPool hosts, Roster roster, Course course) {
        this.limits = limits;
        this.hosts = hosts;
        this.roster = roster;
        this.course = course;
    }

    /// How the generation that runs would change if its workers were called back now.
    ///
    /// @param working how many are in it
    /// @param staying how many of them stay
    /// @param joining how many come in
    /// @param isGathered whether those need not wait for more
    /// @param least with how many the job goes on
    record Change(int working, int staying, int joining, boolean isGathered, int least) {
        private boolean isGrowing() {
            return joining > 0 && isGathered;
        }

        boolean isShrinking() {
            return staying < working;
        }

        /// Whether it is worth a reset, and the job can go on with those that are left.
        boolean isDue() {
            return isGrowing() || (isShrinking() && staying > 0 && size() >= least);
        }

        /// How many there would be.
        int size() {
            return staying + joining;
        }
    }

    Change change(Duration now) {
        List<Member> joining = joining();
        return new Change(
                roster.working().size(),
                staying(),
                joining.size(),
                isGathered(joining, now),
                limits.least());
    }

    /// New workers that would not come in: their hosts are gone meanwhile, or there are enough
    /// others.
    List<Member> spare() {
        List<Member> joining = joining();
        return roster.ready().stream()
                .filter(member -> !member.hasServed() && !joining.contains(member))
                .toList();
    }

    private List<Member> joining() {
        return roster.ready().stream()
                .filter(this::isWanted)
                .limit(Math.max(0, limits.most() - staying()))
                .toList();
    }

    private int staying() {
        return (int) roster.working().stream().filter(this::isWanted).count();
    }

    /// The workers of the next generation, the senior one first. They may be too few.
    List<Member> chosen(boolean isFirst) {
        List<Member> ready = roster.ready();
        List<Member> chosen =
                new ArrayList<>(
                        ready.stream().filter(this::isWanted).limit(limits.most()).toList());
        for (Member member : ready) {
            boolean isNeeded =
                    chosen.size() < limits.enough(isFirst)
                            || (!isFirst && chosen.stream().noneMatch(this::mayHandOver));
            if (isNeeded && !isWanted(member)) {
                chosen.add(member);
            }
        }
        return chosen.stream().sorted(Member.SENIORITY).limit(limits.most()).toList();
    }

    /// Whether others can go on from what this one has. Before anybody has come back with a state,
    /// all that were in a generation may have it.
    private boolean mayHandOver(Member member) {
        return course.anyHadState() ? member.hasState() : member.hasServed();
    }

    /// Whether those that are ready need not wait for more: nobody else is on the way, or for too
    /// long.
    boolean isGathered(List<Member> ready, Duration now) {
        return (roster.starting().isEmpty() && !hosts.anyOpening())
                || Roster.firstCame(ready)
                        .filter(since -> now.minus(since).compareTo(GATHERING) >= 0)
                        .isPresent();
    }

    private boolean isWanted(Member member) {
        return hosts.admits(member.worker());
    }
}

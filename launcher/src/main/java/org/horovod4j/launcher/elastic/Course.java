package org.horovod4j.launcher.elastic;

import org.jspecify.annotations.Nullable;

import java.util.Optional;

/// How far a job has come, and what has befallen the generation that runs.
final class Course {
    private final int mostResets;
    private final Decisions decisions;
    private int generation = -1;
    private boolean isBroken;
    private boolean isFinishing;
    private boolean hasGivenUp;
    private boolean anyHadState;
    private Driver.@Nullable Failure failure;

    Course(Limits limits, Decisions decisions) {
        this.mostResets = limits.resets();
        this.decisions = decisions;
    }

    /// The number of the newest generation; negative before the first.
    int generation() {
        return generation;
    }

    boolean hasBegun() {
        return generation >= 0;
    }

    /// How many generations there were after the first.
    int resets() {
        return Math.max(0, generation);
    }

    /// Whether another generation is allowed.
    boolean mayGoOn() {
        return !hasBegun() || resets() < mostResets;
    }

    /// Begins the next generation, which has lost nobody yet.
    void advance() {
        generation++;
        isBroken = false;
        failure = null;
    }

    /// Notes that a worker is lost. One that was in no generation, or was told to end, is missed by
    /// nobody.
    void lost(Member member, String how) {
        if (member.phase() instanceof Member.Leaving) {
            return;
        }
        isBroken |= member.hasServed();
        if (failure == null && (member.hasServed() || !hasBegun())) {
            failure = new Driver.Failure(member.worker(), how);
        }
    }

    /// Notes that a worker asks for a place.
    ///
    /// @param from the generation whose state it has; negative for none
    /// @param why the failure that it saw; empty for none
    void cameBack(int from, String why) {
        isBroken |= !why.isEmpty();
        anyHadState |= from >= 0;
    }

    /// Whether the generation is known to have lost somebody, so that all its workers will come
    /// back.
    boolean isBroken() {
        return isBroken;
    }

    /// Whether any worker ever had the state of the training.
    boolean anyHadState() {
        return anyHadState;
    }

    /// The first worker to fail in this generation.
    Optional<Driver.Failure> failure() {
        return Optional.ofNullable(failure);
    }

    /// A worker has come to the end of the training.
    void finish() {
        isFinishing = true;
    }

    boolean isFinishing() {
        return isFinishing;
    }

    /// The job cannot go on.
    void giveUp(String reason) {
        hasGivenUp = true;
        decisions.add(new Action.GiveUp(reason));
    }

    boolean hasGivenUp() {
        return hasGivenUp;
    }
}

package org.horovod4j.runtime.controller;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.message.TestRequests;
import org.junit.jupiter.api.Test;

import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/// Ranks use the name `x` for an allreduce and for a group of two tensors.
class CallConflictsTest {
    private static final int RANKS = 3;
    private static final Request PLAIN = TestRequests.sum("x", 3);
    private static final Request FIRST = TestRequests.inGroup("x", TestRequests.sum("x_1of2", 3));
    private static final Request SECOND = TestRequests.inGroup("x", TestRequests.sum("x_2of2", 3));

    private final CallConflicts callConflicts = new CallConflicts();
    private final Map<String, RequestTally> tallies = new HashMap<>();
    private final BitSet joined = new BitSet();

    private void add(int rank, Request... requests) {
        for (Request request : requests) {
            RequestTally tally =
                    tallies.computeIfAbsent(request.name(), name -> new RequestTally(name, RANKS));
            tally.add(rank, request, 0);
            callConflicts.added(request, tally, tallies.get(request.programName()));
        }
    }

    private void decide(Request request) {
        callConflicts.removed(Objects.requireNonNull(tallies.remove(request.name())));
    }

    private Map<String, List<RequestTally>> take() {
        return callConflicts.take(tallies, joined, RANKS);
    }

    private Map<String, List<RequestTally>> conflictOf(Request... requests) {
        return Map.of(
                "x",
                Arrays.stream(requests)
                        .map(request -> Objects.requireNonNull(tallies.get(request.name())))
                        .toList());
    }

    @Test
    void conflictIsTakenOnceAndWhenEveryRankTakesPart() {
        add(0, FIRST, SECOND);
        add(1, PLAIN);
        assertThat(take()).isEmpty();
        add(2, PLAIN);
        assertThat(take()).isEqualTo(conflictOf(FIRST, SECOND, PLAIN));
        assertThat(take()).isEmpty();
    }

    @Test
    void joinedRankTakesPart() {
        add(0, FIRST);
        add(1, PLAIN);
        assertThat(take()).isEmpty();
        joined.set(2);
        assertThat(take()).isEqualTo(conflictOf(FIRST, PLAIN));
    }

    @Test
    void equalCallsAreNoConflict() {
        add(0, FIRST, SECOND);
        add(1, SECOND);
        add(2, FIRST);
        assertThat(take()).isEmpty();
    }

    @Test
    void callThatRemainsAloneIsNoConflict() {
        add(0, PLAIN);
        add(1, FIRST, SECOND);
        add(2, FIRST);
        decide(PLAIN);
        add(0, FIRST);
        assertThat(take()).isEmpty();
        decide(FIRST);
        decide(SECOND);
        assertThat(callConflicts.isEmpty()).isTrue();
    }
}

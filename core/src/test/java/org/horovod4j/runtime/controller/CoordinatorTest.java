package org.horovod4j.runtime.controller;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.runtime.message.CollectiveKind;
import org.horovod4j.runtime.message.CoordinatorMessage;
import org.horovod4j.runtime.message.CoordinatorMessage.Cached;
import org.horovod4j.runtime.message.CoordinatorMessage.Uncached;
import org.horovod4j.runtime.message.RankMessage;
import org.horovod4j.runtime.message.RankMessage.RequestRef;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.message.TestRequests;
import org.horovod4j.spi.Tuning;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/// Calls a coordinator with the messages of ranks 4, 5 and 6 of a world.
class CoordinatorTest {
    private static final List<Integer> RANKS = List.of(4, 5, 6);
    private static final long PLENTY = 1 << 20;

    private Coordinator coordinator = coordinator(0, true);
    private long epoch;
    private long segment;
    private long batchCount;

    private Coordinator coordinator(int cache, boolean locking) {
        return new Coordinator(
                RANKS,
                new Coordinator.CoordinatorSettings(cache, true, locking, false, () -> PLENTY),
                Tuning.DEFAULT,
                (_, _) -> {});
    }

    private void submit(int rank, Request... requests) {
        List<RequestRef> requestRefs =
                Arrays.stream(requests).<RequestRef>map(RankMessage.NewRequest::new).toList();
        coordinator.receive(rank, new RankMessage.Submit(epoch, 0, segment, requestRefs));
    }

    private void submitByAll(Request... requests) {
        IntStream.of(2, 0, 1).forEach(rank -> submit(rank, requests));
    }

    private static Request[] sums(String names) {
        return Arrays.stream(names.split(""))
                .map(name -> TestRequests.sum(name, 3))
                .toArray(Request[]::new);
    }

    /// All ranks submit these, and they run.
    private void step(String names) {
        segment++;
        submitByAll(sums(names));
        assertThat(runs()).containsExactlyInAnyOrder(names.split(""));
    }

    /// The names of the operations that run; there must be no other decision.
    private List<String> runs() {
        List<String> names = new ArrayList<>();
        for (CoordinatorMessage decision : coordinator.decisions()) {
            assertThat(decision).isInstanceOf(CoordinatorMessage.Run.class);
            batchCount++;
            for (CoordinatorMessage.OperationRef operationRef :
                    ((CoordinatorMessage.Run) decision).operations()) {
                if (operationRef instanceof Uncached(Request request, int _)) {
                    names.add(request.name());
                }
            }
        }
        return names;
    }

    private CoordinatorMessage only() {
        List<CoordinatorMessage> decisions = coordinator.decisions();
        assertThat(decisions).hasSize(1);
        return decisions.getFirst();
    }

    private CoordinatorMessage.Lock locked(String next) {
        segment++;
        submit(0, sums(next));
        CoordinatorMessage decision = only();
        assertThat(decision).isInstanceOf(CoordinatorMessage.Lock.class);
        epoch++;
        return (CoordinatorMessage.Lock) decision;
    }

    private static List<List<String>> names(CoordinatorMessage.Lock lock) {
        return lock.batches().stream()
                .map(batch -> batch.stream().map(Request::name).toList())
                .toList();
    }

    /// Rank 1 leaves the plan after this number of its batches, and the others follow.
    private void leave(long ofPlan, boolean stuck) {
        batchCount += ofPlan;
        coordinator.receive(1, new RankMessage.Deviate(batchCount, stuck));
        assertThat(only()).isEqualTo(new CoordinatorMessage.Unlock(batchCount));
        coordinator.receive(0, new RankMessage.Stopped(false));
        assertThat(coordinator.decisions()).isEmpty();
        coordinator.receive(2, new RankMessage.Stopped(false));
        assertThat(only()).isEqualTo(new CoordinatorMessage.Unlocked(false));
        epoch++;
    }

    @Test
    void anOperationRunsWhenAllHaveAskedForIt() {
        submit(1, sums("a"));
        submit(0, sums("a"));
        assertThat(coordinator.decisions()).isEmpty();
        submit(2, sums("a"));
        assertThat(only())
                .isEqualTo(
                        new CoordinatorMessage.Run(
                                List.of(new Uncached(TestRequests.sum("a", 3), -1)), 3));
    }

    @Test
    void readyOperationsAreFusedUpToTheBackendLimit() {
        submitByAll(sums("abc"));
        assertThat(coordinator.decisions()).hasSize(1);
        long third = PLENTY / Float.BYTES / 2;
        submitByAll(
                TestRequests.sum("d", third),
                TestRequests.sum("e", third),
                TestRequests.sum("f", third));
        assertThat(coordinator.decisions()).hasSize(2);
    }

    static Stream<Arguments> disagreements() {
        Request usual = TestRequests.sum("t", 3);
        Request gather =
                TestRequests.of(CollectiveKind.ALLGATHER, "t", DataType.INT8, Shape.of(3, 2));
        Request root = TestRequests.broadcast("t", 4);
        return Stream.of(
                Arguments.of(
                        usual,
                        TestRequests.of(CollectiveKind.ALLREDUCE, "t", DataType.INT32, Shape.of(3)),
                        "data type",
                        "float32 on ranks 4, 6",
                        "int32 on rank 5"),
                Arguments.of(usual, gather, "operation", "allreduce on", "allgather on rank 5"),
                Arguments.of(
                        usual,
                        TestRequests.sum("t", 3, 1),
                        "shape",
                        "[3] on ranks 4, 6",
                        "[3, 1] on rank 5"),
                Arguments.of(
                        usual,
                        TestRequests.with(usual, ReduceOp.SUM, Scale.after(2)),
                        "prescale or postscale",
                        "prescale 1.0, postscale 1.0 on ranks 4, 6",
                        "prescale 1.0, postscale 2.0 on rank 5"),
                Arguments.of(
                        usual,
                        TestRequests.with(usual, ReduceOp.MAX, Scale.NONE),
                        "reduce op",
                        "SUM on ranks 4, 6",
                        "MAX on rank 5"),
                Arguments.of(
                        gather,
                        TestRequests.of(CollectiveKind.ALLGATHER, "t", DataType.INT8, Shape.of(3)),
                        "dimensions after the first",
                        "[*, 2] on ranks 4, 6",
                        "[*] on rank 5"),
                Arguments.of(
                        gather,
                        TestRequests.of(
                                CollectiveKind.ALLGATHER, "t", DataType.INT8, Shape.of(3, 4)),
                        "dimensions after the first",
                        "[*, 2] on ranks 4, 6",
                        "[*, 4] on rank 5"),
                Arguments.of(
                        root,
                        TestRequests.broadcast("t", 6),
                        "root rank",
                        "root rank 4 on ranks 4, 6",
                        "root rank 6 on rank 5"));
    }

    @ParameterizedTest
    @MethodSource("disagreements")
    void mismatchNamesRanksAndTheNameIsReusable(
            Request usual, Request odd, String about, String usualWords, String oddWords) {
        submit(1, odd);
        submit(0, usual);
        submit(2, usual);
        CoordinatorMessage.Fail fail = (CoordinatorMessage.Fail) only();
        assertThat(fail.name()).isEqualTo("t");
        assertThat(fail.reason()).contains("'t'", about, usualWords, oddWords);
        submitByAll(usual);
        assertThat(runs()).containsExactly("t");
    }

    @Test
    void allgatherRowsMayDiffer() {
        for (int rank = 0; rank < 3; rank++) {
            submit(
                    rank,
                    TestRequests.of(
                            CollectiveKind.ALLGATHER, "g", DataType.INT8, Shape.of(rank, 2)),
                    TestRequests.of(
                            CollectiveKind.ALLTOALL, "t", DataType.INT8, Shape.of(rank, 2)));
        }
        assertThat(runs()).containsExactly("g", "t");
    }

    @Test
    void cachedRequestsUseSlotNumbers() {
        coordinator = coordinator(100, false);
        submitByAll(sums("ab"));
        assertThat(runs()).hasSize(2);
        for (int rank = 0; rank < 3; rank++) {
            coordinator.receive(
                    rank,
                    new RankMessage.Submit(0, 1, 1, List.of(new RankMessage.CachedRequest(1))));
        }
        assertThat(only()).isEqualTo(new CoordinatorMessage.Run(List.of(new Cached(1)), 3));
    }

    @Test
    void evictionFollowsTheRunAndOldSlotsStayValid() {
        coordinator = coordinator(1, false);
        submitByAll(sums("a"));
        assertThat(runs()).containsExactly("a"); // message 1, slot 0
        coordinator.receive(
                2, new RankMessage.Submit(0, 1, 0, List.of(new RankMessage.CachedRequest(0))));
        submitByAll(sums("b"));
        List<CoordinatorMessage> decisions = coordinator.decisions(); // messages 2 and 3
        assertThat(decisions.getFirst()).isInstanceOf(CoordinatorMessage.Run.class);
        assertThat(decisions.getLast()).isEqualTo(new CoordinatorMessage.Evict(List.of(0)));
        // Rank 1 has not seen it yet.
        coordinator.receive(
                1, new RankMessage.Submit(0, 2, 0, List.of(new RankMessage.CachedRequest(0))));
        submit(0, sums("a"));
        CoordinatorMessage.Run run = (CoordinatorMessage.Run) coordinator.decisions().getFirst();
        assertThat(run.operations()).containsExactly(new Uncached(TestRequests.sum("a", 3), 2));
    }

    @Test
    void joinedRanksCountAsReady() {
        submit(0, sums("a"));
        submit(1, sums("a"));
        coordinator.receive(2, new RankMessage.Join(0));
        assertThat(only()).isInstanceOf(CoordinatorMessage.Run.class);
        submit(0, sums("b"));
        assertThat(coordinator.decisions()).isEmpty();
        coordinator.receive(1, new RankMessage.Join(0));
        assertThat(only()).isInstanceOf(CoordinatorMessage.Run.class);
        coordinator.receive(0, new RankMessage.Join(0));
        assertThat(only()).isEqualTo(new CoordinatorMessage.Joined(0));
        submit(0, sums("c"));
        assertThat(coordinator.decisions()).isEmpty();
    }

    @Test
    void aRankMaySubmitAndJoinAndAllEndWhenTheLastJoins() {
        submit(2, sums("a"));
        for (int rank = 2; rank >= 0; rank--) {
            coordinator.receive(rank, new RankMessage.Join(0));
        }
        List<CoordinatorMessage> decisions = coordinator.decisions();
        assertThat(decisions.getFirst()).isInstanceOf(CoordinatorMessage.Run.class);
        assertThat(decisions.getLast()).isEqualTo(new CoordinatorMessage.Joined(0));
    }

    @Test
    void aBroadcastFromARankThatHasJoinedFails() {
        coordinator.receive(2, new RankMessage.Join(0));
        submit(0, TestRequests.broadcast("b", 2));
        submit(1, TestRequests.broadcast("b", 2));
        assertThat(((CoordinatorMessage.Fail) only()).reason()).contains("root rank 2 has joined");
    }

    @Test
    void failedStepFailsWhatItsRankHasNotSubmitted() {
        submit(0, sums("a"));
        coordinator.receive(2, new RankMessage.FailStep(0, "bad batch"));
        CoordinatorMessage.Fail pending = (CoordinatorMessage.Fail) only();
        assertThat(pending.name()).isEqualTo("a");
        assertThat(pending.ranks()).containsExactly(0);
        assertThat(pending.reason()).contains("step of rank 6 has failed: bad batch");
        submit(1, sums("a"));
        assertThat(((CoordinatorMessage.Fail) only()).ranks()).containsExactly(1);
        coordinator.receive(1, new RankMessage.FailStep(0, "another rank failed"));
        submit(0, sums("b"));
        assertThat(only()).isInstanceOf(CoordinatorMessage.Fail.class);
        coordinator.receive(0, new RankMessage.FailStep(0, "another rank failed"));
        assertThat(only()).isEqualTo(new CoordinatorMessage.StepEnded(0));
    }

    @Test
    void failedStepEndsWhenTheOtherRanksHaveJoined() {
        coordinator.receive(1, new RankMessage.Join(0));
        coordinator.receive(2, new RankMessage.FailStep(0, "bad batch"));
        assertThat(coordinator.decisions()).isEmpty();
        coordinator.receive(0, new RankMessage.FailStep(0, "another rank failed"));
        assertThat(only()).isEqualTo(new CoordinatorMessage.StepEnded(0));
        submit(0, sums("a"));
        submit(2, sums("a"));
        assertThat(only()).isInstanceOf(CoordinatorMessage.Run.class); // rank 1 is still joined
    }

    @Test
    void whatARankSubmittedBeforeItsStepFailedStillRuns() {
        submit(0, sums("a"));
        submit(1, sums("a"));
        submit(2, sums("ab"));
        coordinator.receive(2, new RankMessage.FailStep(0, "bad batch"));
        assertThat(only()).isInstanceOf(CoordinatorMessage.Run.class);
        submit(0, sums("b"));
        submit(1, sums("b"));
        assertThat(only()).isInstanceOf(CoordinatorMessage.Run.class);
    }

    @Test
    void twoEqualStepsAreLockedWhenTheThirdBegins() {
        step("abc");
        step("abc");
        CoordinatorMessage.Lock lock = locked("a");
        assertThat(names(lock)).containsExactly(List.of("a", "b", "c"));
        assertThat(lock.start()).isZero();
    }

    @Test
    void noPlanIsLockedWhenPlanLockingIsDisabled() {
        coordinator = coordinator(0, false);
        for (int i = 0; i < 5; i++) {
            step("abc");
        }
    }

    @Test
    void planDoesNotFuseDifferentSegments() {
        for (int i = 0; i < 2; i++) {
            step("ab");
            step("c");
        }
        assertThat(names(locked("a"))).containsExactly(List.of("a", "b"), List.of("c"));
    }

    @Test
    void aStepIsRecognisedWhereverItBegins() {
        step("x");
        step("ab");
        step("ab");
        assertThat(names(locked("a"))).containsExactly(List.of("a", "b"));
    }

    @Test
    void outstandingRequestOutsideThePlanPreventsTheLock() {
        step("ab");
        step("ab");
        submit(1, sums("x"));
        segment++;
        submit(0, sums("a"));
        assertThat(coordinator.decisions()).isEmpty();
    }

    @Test
    void messagesFromBeforeTheLockAreIgnored() {
        step("ab");
        step("ab");
        submit(1, sums("a"));
        assertThat(locked("a").start()).isZero();
        epoch--;
        submit(2, sums("a")); // in flight when the plan was locked
        coordinator.receive(2, new RankMessage.Join(epoch));
        epoch++;
        assertThat(coordinator.decisions()).isEmpty();
        leave(0, false);
        submit(0, sums("a"));
        submit(1, sums("a"));
        assertThat(coordinator.decisions()).isEmpty();
        submit(2, sums("a"));
        assertThat(runs()).containsExactly("a");
    }

    @Test
    void planIsUnlockedOnceWhenSeveralRanksDeviate() {
        step("ab");
        step("ab");
        locked("a");
        coordinator.receive(1, new RankMessage.Deviate(batchCount, false));
        coordinator.receive(2, new RankMessage.Deviate(batchCount, false));
        assertThat(only()).isEqualTo(new CoordinatorMessage.Unlock(batchCount));
        coordinator.receive(0, new RankMessage.Stopped(false));
        assertThat(only()).isEqualTo(new CoordinatorMessage.Unlocked(false));
    }

    @Test
    void ranksResetTheBackendAfterACancelledBatchBeforeAnythingRuns() {
        step("ab");
        step("ab");
        locked("a");
        coordinator.receive(1, new RankMessage.Deviate(batchCount, false));
        assertThat(only()).isInstanceOf(CoordinatorMessage.Unlock.class);
        coordinator.receive(2, new RankMessage.Stopped(true));
        coordinator.receive(0, new RankMessage.Stopped(false));
        assertThat(only()).isEqualTo(new CoordinatorMessage.Unlocked(true));
        epoch++;
        submitByAll(sums("xy"));
        coordinator.receive(0, new RankMessage.ResetDone());
        coordinator.receive(2, new RankMessage.ResetDone());
        assertThat(coordinator.decisions()).isEmpty();
        coordinator.receive(1, new RankMessage.ResetDone());
        assertThat(runs()).containsExactly("x", "y");
    }

    @Test
    void planIsLockedAgainAfterOtherOperations() {
        step("ab");
        step("ab");
        CoordinatorMessage.Lock first = locked("a");
        leave(100, false);
        step("x");
        CoordinatorMessage.Lock again = locked("a");
        assertThat(again).isEqualTo(new CoordinatorMessage.Lock(first.plan(), List.of(), 0));
    }

    @Test
    void aPlanIsLockedAgainAfterAllRanksHaveResetTheBackend() {
        step("ab");
        step("ab");
        CoordinatorMessage.Lock first = locked("a");
        batchCount += 100;
        coordinator.receive(1, new RankMessage.Deviate(batchCount, false));
        assertThat(only()).isInstanceOf(CoordinatorMessage.Unlock.class);
        coordinator.receive(0, new RankMessage.Stopped(true));
        coordinator.receive(2, new RankMessage.Stopped(true));
        assertThat(only()).isEqualTo(new CoordinatorMessage.Unlocked(true));
        epoch++;
        coordinator.receive(1, new RankMessage.ResetDone());
        coordinator.receive(2, new RankMessage.ResetDone());
        submitByAll(sums("ab"));
        assertThat(coordinator.decisions()).isEmpty();
        coordinator.receive(0, new RankMessage.ResetDone());
        assertThat(runs()).containsExactly("a", "b");
        CoordinatorMessage.Lock again = locked("a");
        assertThat(again).isEqualTo(new CoordinatorMessage.Lock(first.plan(), List.of(), 0));
    }

    @Test
    void aPlanResumesInTheMiddleOfAStep() {
        for (int i = 0; i < 2; i++) {
            step("ab");
            step("c");
        }
        locked("a");
        leave(200, false);
        step("x");
        assertThat(locked("c").start()).isEqualTo(1);
    }

    /// The number of steps before a plan is locked again.
    private int stepsUntilLocked() {
        for (int steps = 0; steps < 1_000; steps++) {
            segment++;
            submit(0, sums("ab"));
            List<CoordinatorMessage> decisions = coordinator.decisions();
            if (!decisions.isEmpty()) {
                assertThat(decisions.getFirst()).isInstanceOf(CoordinatorMessage.Lock.class);
                epoch++;
                return steps;
            }
            submit(1, sums("ab"));
            submit(2, sums("ab"));
            batchCount += coordinator.decisions().size();
        }
        throw new AssertionError("never locked again");
    }

    @Test
    void faultyPlanBacksOffLongerEachTime() {
        step("ab");
        step("ab");
        locked("a");
        List<Integer> rests = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            leave(100, true);
            rests.add(stepsUntilLocked());
        }
        assertThat(rests).isSorted();
        assertThat(rests.getLast()).isGreaterThanOrEqualTo(8 * Math.max(1, rests.getFirst()));
    }

    @Test
    void longLivedPlanDoesNotBackOff() {
        step("ab");
        step("ab");
        locked("a");
        leave(100, false);
        assertThat(stepsUntilLocked()).isZero();
    }

    @Test
    void newTuningIsSentFirst() {
        submit(0, sums("a"));
        Tuning other = Tuning.DEFAULT.withFusionThreshold(0);
        coordinator.retune(other);
        assertThat(coordinator.decisions())
                .containsExactly(
                        new CoordinatorMessage.Tune(other), new CoordinatorMessage.Unlocked(false));
        epoch++; // all ranks request the operations in flight again
        submit(0, sums("a"));
        submit(1, sums("a"));
        assertThat(coordinator.decisions()).isEmpty();
        submit(2, sums("a"));
        assertThat(runs()).containsExactly("a");
        submitByAll(sums("bc"));
        assertThat(coordinator.decisions()).hasSize(2);
    }
}

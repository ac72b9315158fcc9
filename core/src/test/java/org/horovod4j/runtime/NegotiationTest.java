package org.horovod4j.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.awaitility.Awaitility.await;

import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Handle;
import org.horovod4j.MismatchException;
import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.ShutDownException;
import org.horovod4j.Tensor;
import org.horovod4j.runtime.queue.TensorEntry;
import org.horovod4j.testing.FewLayouts;
import org.horovod4j.testing.Layout;
import org.horovod4j.testing.MultiRankLayouts;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;

/// Operations of ranks are matched by name, with a locked plan and without.
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD) // a hang would never end
class NegotiationTest {
    /// More steps than a plan needs to be locked.
    private static final int STEPS = 8;

    private static final String LOCKED = "following plan";

    /// Longer than the timeout for an operation that a plan holds back.
    private static final long GRACE_NANOS = 15_000_000;

    private static Tensor ones() {
        return Tensor.of(new int[] {1, 1, 1});
    }

    private static void isSum(Communicator comm, Tensor tensor) {
        assertThat(tensor.toIntArray()).containsOnly(comm.size());
    }

    /// Runs the same step until its plan is locked.
    private static void lock(Communicator comm, String... names) {
        for (int i = 0; i < STEPS; i++) {
            step(comm, List.of(names));
        }
    }

    private static void step(Communicator comm, List<String> names) {
        List<Handle<Tensor>> handles =
                names.stream()
                        .map(name -> comm.allreduceAsync(name, ones(), ReduceOp.SUM))
                        .toList();
        handles.forEach(handle -> isSum(comm, handle.join()));
    }

    @Test
    void repeatedStepsLockAPlanAndOtherStepsUnlockIt() {
        // The next call of one rank changes the state of both, so it waits until both have looked.
        CyclicBarrier bothHaveLooked = new CyclicBarrier(2);
        World.run(
                2,
                comm -> {
                    lock(comm, "a", "b", "c");
                    assertThat(comm.describeState()).contains(LOCKED);
                    bothHaveLooked.await();
                    comm.barrier();
                    assertThat(comm.describeState()).doesNotContain(LOCKED);
                    bothHaveLooked.await();
                    lock(comm, "a", "b", "c");
                    assertThat(comm.describeState()).contains(LOCKED);
                    bothHaveLooked.await();
                });
    }

    @FewLayouts
    void ranksSubmitInAnyOrderFromSeveralThreads(Layout layout) {
        List<String> names = List.of("a", "b", "c", "d", "e", "f", "g");
        layout.world()
                .run(
                        comm -> {
                            try (ExecutorService threads = Executors.newFixedThreadPool(3)) {
                                for (int i = 0; i < 2 * STEPS; i++) {
                                    List<String> order = new ArrayList<>(names);
                                    Collections.shuffle(order, new Random(31L * i + comm.rank()));
                                    List<Future<?>> all = new ArrayList<>();
                                    for (List<String> share :
                                            List.of(order.subList(0, 2), order.subList(2, 7))) {
                                        all.add(threads.submit(() -> step(comm, share)));
                                    }
                                    for (Future<?> each : all) {
                                        each.get();
                                    }
                                }
                            }
                        });
    }

    @FewLayouts
    void anyCollectiveMayInterruptALockedPlan(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            int size = comm.size();
                            Tensor mine = Tensor.of(new int[] {comm.rank()});
                            for (int i = 0; i < STEPS; i++) {
                                Handle<Tensor> a = comm.allreduceAsync("a", ones(), ReduceOp.SUM);
                                Handle<Tensor> all = comm.allgatherAsync("all", mine);
                                Tensor root = Tensor.of(new int[] {comm.rank()});
                                Handle<Tensor> from = comm.broadcastAsync("from", root, size - 1);
                                Tensor to = Tensor.of(new int[size]);
                                if (i % 3 == 0) {
                                    comm.barrier();
                                }
                                assertThat(comm.alltoall("to", to).elementCount()).isEqualTo(size);
                                Tensor rows = Tensor.zeros(DataType.INT8, Shape.of(size, 2));
                                assertThat(
                                                comm.reducescatter("rows", rows, ReduceOp.SUM)
                                                        .elementCount())
                                        .isEqualTo(2);
                                isSum(comm, a.join());
                                assertThat(all.join().elementCount()).isEqualTo(size);
                                assertThat(from.join().toIntArray()).containsExactly(size - 1);
                            }
                        });
    }

    @MultiRankLayouts
    void polledHandlesCompleteInALockedPlan(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            lock(comm, "a", "b");
                            // The plan would hold this one back until 'b' is submitted.
                            Handle<Tensor> alone = comm.allreduceAsync("a", ones(), ReduceOp.SUM);
                            while (!alone.isDone()) {
                                Thread.onSpinWait();
                            }
                            isSum(comm, alone.join());
                        });
    }

    /// The plan held it back for a moment; only the handle shows that it has run since.
    @MultiRankLayouts
    void earlyPollDoesNotUnlockThePlanInALaterStep(Layout layout) {
        CyclicBarrier allHaveLooked = new CyclicBarrier(layout.size());
        AtomicLong longestPause = new AtomicLong();
        layout.world()
                .run(
                        comm -> {
                            lock(comm, "a", "b");
                            for (int i = 0; i < STEPS; i++) {
                                long looked = System.nanoTime();
                                TensorEntry<?> a = submit(comm, "a");
                                boolean ranAlone = a.isDone();
                                TensorEntry<?> b = submit(comm, "b");
                                longestPause.accumulateAndGet(
                                        System.nanoTime() - looked, Math::max);
                                await().pollInterval(Duration.ofMillis(1))
                                        .until(() -> a.hasEnded() && b.hasEnded());
                                await().pollInterval(Duration.ofMillis(1))
                                        .until(() -> System.nanoTime() - looked > GRACE_NANOS);
                                String state = comm.describeState();
                                allHaveLooked.await();
                                if (longestPause.get() > GRACE_NANOS / 3) {
                                    return; // this machine was busy: the plan may be unlocked
                                }
                                assertThat(ranAlone).isFalse();
                                assertThat(state).contains(LOCKED);
                                allHaveLooked.await();
                            }
                        });
        assumeThat(longestPause.get()).isLessThanOrEqualTo(GRACE_NANOS / 3);
    }

    private static TensorEntry<?> submit(Communicator comm, String name) {
        return (TensorEntry<?>) comm.allreduceAsync(name, ones(), ReduceOp.SUM);
    }

    @MultiRankLayouts
    void shapesAndTypesMayChangeBetweenSteps(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            for (int round = 1; round <= 3; round++) {
                                lock(comm, "a", "b");
                                Tensor longer = Tensor.zeros(DataType.FLOAT64, Shape.of(round, 7));
                                Tensor other = Tensor.of(new float[] {1, 2});
                                Handle<Tensor> a = comm.allreduceAsync("a", longer, ReduceOp.SUM);
                                Handle<Tensor> b = comm.allreduceAsync("b", other, ReduceOp.MAX);
                                assertThat(a.join().toDoubleArray()).containsOnly(0);
                                assertThat(b.join().toFloatArray()).containsExactly(1, 2);
                            }
                        });
    }

    @MultiRankLayouts
    void aMissingTensorOnlyDelaysTheOthersOfItsStep(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            lock(comm, "a", "b", "c");
                            step(comm, List.of("a", "c"));
                            step(comm, List.of("c"));
                            lock(comm, "a", "b", "c");
                            step(comm, List.of("b", "a"));
                        });
    }

    @MultiRankLayouts
    void aRankMayWaitForOneResultBeforeItSubmitsTheRest(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            int patient = comm.size() - 1;
                            lock(comm, "a", "b", "c");
                            for (int i = 0; i < 3; i++) {
                                if (comm.rank() == patient) {
                                    step(comm, List.of("b"));
                                    step(comm, List.of("c", "a"));
                                } else {
                                    step(comm, List.of("a", "b", "c"));
                                }
                            }
                            lock(comm, "a", "b", "c");
                        });
    }

    /// The others may need only what a rank has submitted, while its program waits for something
    /// else.
    @MultiRankLayouts
    void busyProgramDoesNotBlockRanksThatLeaveThePlan(Layout layout) {
        for (int busy = 0; busy < layout.size(); busy++) {
            int elsewhere = busy;
            CountDownLatch others = new CountDownLatch(layout.size() - 1);
            layout.world()
                    .run(
                            comm -> {
                                lock(comm, "a", "b");
                                Handle<Tensor> a = comm.allreduceAsync("a", ones(), ReduceOp.SUM);
                                if (comm.rank() == elsewhere) {
                                    others.await();
                                    isSum(comm, a.join());
                                } else {
                                    isSum(comm, a.join());
                                    others.countDown();
                                }
                            });
        }
    }

    /// One rank leaves the plan while all others wait for it inside a batch, which they cancel.
    @MultiRankLayouts
    void aPlanIsLockedAgainAfterOneOfItsBatchesWasCancelled(Layout layout) {
        List<String> names = List.of("a", "b", "c");
        CyclicBarrier stepsAreOver = new CyclicBarrier(layout.size());
        CyclicBarrier allHaveLooked = new CyclicBarrier(layout.size());
        layout.world()
                .run(
                        comm -> {
                            lock(comm, "a", "b", "c");
                            for (int leaver = 0; leaver < comm.size(); leaver++) {
                                stepsAreOver.await();
                                if (comm.rank() == leaver) {
                                    awaitInsidePlan(comm.size() - 1);
                                    Handle<Tensor> other =
                                            comm.allreduceAsync("other", ones(), ReduceOp.SUM);
                                    awaitUnlocked(comm);
                                    step(comm, names);
                                    isSum(comm, other.join());
                                } else {
                                    step(comm, names);
                                    step(comm, List.of("other"));
                                }
                                lock(comm, "a", "b", "c");
                                assertThat(comm.describeState()).contains(LOCKED + " 1 ");
                                allHaveLooked.await();
                            }
                        });
    }

    /// Waits until this number of ranks are in an operation of a plan, each on its driving thread.
    private static void awaitInsidePlan(int ranks) {
        await().pollInterval(Duration.ofMillis(1))
                .until(
                        () ->
                                Thread.getAllStackTraces().values().stream()
                                                .filter(NegotiationTest::isInsidePlan)
                                                .count()
                                        == ranks);
    }

    private static boolean isInsidePlan(StackTraceElement[] stack) {
        return Arrays.stream(stack).anyMatch(frame -> frame.getMethodName().equals("runPlanned"));
    }

    private static void awaitUnlocked(Communicator comm) {
        await().pollInterval(Duration.ofMillis(1))
                .until(() -> !comm.describeState().contains(LOCKED));
    }

    @MultiRankLayouts
    void mismatchInALockedPlanFailsOnEveryRank(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            for (int odd = 0; odd < comm.size(); odd++) {
                                lock(comm, "a", "b", "c");
                                Handle<Tensor> a = comm.allreduceAsync("a", ones(), ReduceOp.SUM);
                                Tensor disputed =
                                        comm.rank() == odd
                                                ? Tensor.of(new int[] {1, 2})
                                                : Tensor.of(new int[] {1, 2, 3});
                                String before = describe(disputed);
                                Handle<Tensor> b = comm.allreduceAsync("b", disputed, ReduceOp.SUM);
                                Handle<Tensor> c = comm.allreduceAsync("c", ones(), ReduceOp.SUM);
                                assertThatThrownBy(b::join)
                                        .isInstanceOf(MismatchException.class)
                                        .hasMessageContaining("[2] on rank " + odd + "\n")
                                        .hasMessageContaining("[3] on rank");
                                assertThat(describe(disputed)).isEqualTo(before);
                                isSum(comm, a.join());
                                isSum(comm, c.join());
                            }
                        });
    }

    private static String describe(Tensor tensor) {
        return Arrays.toString(tensor.toIntArray());
    }

    @MultiRankLayouts
    void aRankMayLeaveInTheMiddleOfALockedPlan(Layout layout) {
        int leaver = layout.size() - 1;
        layout.world()
                .run(
                        comm -> {
                            lock(comm, "a", "b");
                            if (comm.rank() == leaver) {
                                comm.close();
                                return;
                            }
                            Handle<Tensor> a = comm.allreduceAsync("a", ones(), ReduceOp.SUM);
                            Handle<Tensor> b = comm.allreduceAsync("b", ones(), ReduceOp.SUM);
                            assertThatThrownBy(a::join)
                                    .isInstanceOf(ShutDownException.class)
                                    .hasMessageContaining("rank " + leaver);
                            assertThatThrownBy(b::join).isInstanceOf(ShutDownException.class);
                        });
    }

    @MultiRankLayouts
    void aRankMayLeaveWithOperationsOfALockedPlanInFlight(Layout layout) {
        CountDownLatch left = new CountDownLatch(1);
        layout.world()
                .run(
                        comm -> {
                            lock(comm, "a", "b");
                            if (comm.rank() == 0) {
                                Handle<Tensor> mine =
                                        comm.allreduceAsync("b", ones(), ReduceOp.SUM);
                                comm.close();
                                left.countDown();
                                assertThatThrownBy(mine::join)
                                        .isInstanceOf(ShutDownException.class)
                                        .hasMessageContaining("this rank has called shutdown");
                                return;
                            }
                            left.await();
                            assertThatThrownBy(() -> step(comm, List.of("a", "b")))
                                    .isInstanceOf(ShutDownException.class);
                        });
    }

    @MultiRankLayouts
    void nameInFlightRejectsItsGroupInALockedPlan(Layout layout) {
        CountDownLatch refused = new CountDownLatch(layout.size());
        layout.world()
                .run(
                        comm -> {
                            lock(comm, "g_2of2", "b");
                            Handle<Tensor> first =
                                    comm.allreduceAsync("g_2of2", ones(), ReduceOp.SUM);
                            assertThatThrownBy(
                                            () ->
                                                    comm.groupedAllreduceAsync(
                                                            "g",
                                                            List.of(ones(), ones()),
                                                            ReduceOp.SUM))
                                    .isInstanceOf(IllegalArgumentException.class)
                                    .hasMessageContaining("'g_2of2' is in flight");
                            refused.countDown();
                            refused.await();
                            step(comm, List.of("b", "g_1of2"));
                            isSum(comm, first.join());
                        });
    }

    @MultiRankLayouts
    void processSetsLockPlansOfTheirOwn(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            int last = comm.size() - 1;
                            ProcessSet pair = comm.size() > 2 ? comm.addProcessSet(0, last) : null;
                            for (int i = 0; i < STEPS; i++) {
                                Handle<Tensor> all = comm.allreduceAsync("a", ones(), ReduceOp.SUM);
                                if (pair != null && pair.isIncluded()) {
                                    step(pair.communicator(), List.of("a", "b"));
                                }
                                isSum(comm, all.join());
                            }
                        });
    }
}

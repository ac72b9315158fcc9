package org.horovod4j.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.Communicator;
import org.horovod4j.Handle;
import org.horovod4j.MismatchException;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.testing.Layout;
import org.horovod4j.testing.MultiRankLayouts;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/// A step fails on one rank. The others learn of it, and all make the next step together.
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD) // a hang would never end
class FailStepTest {
    private static final int TENSORS = 5;

    private static List<Handle<Tensor>> submit(Communicator comm, int step, int from, int to) {
        List<Handle<Tensor>> handles = new ArrayList<>();
        for (int i = from; i < to; i++) {
            handles.add(
                    comm.allreduceAsync(
                            "gradient" + i, Tensor.of(new int[] {100 * step + i}), ReduceOp.SUM));
        }
        return handles;
    }

    private static void step(Communicator comm, int step) {
        List<Handle<Tensor>> handles = submit(comm, step, 0, TENSORS);
        for (int i = 0; i < TENSORS; i++) {
            assertThat(handles.get(i).join().toIntArray())
                    .containsExactly(comm.size() * (100 * step + i));
        }
    }

    /// The failing rank has submitted `submitted` of the tensors.
    private static void failedStep(Communicator comm, int step, int failing, int submitted) {
        boolean fails = comm.rank() == failing;
        List<Handle<Tensor>> handles = submit(comm, step, 0, fails ? submitted : TENSORS);
        if (fails) {
            comm.failStep("Infinity in batch " + step);
        } else {
            for (Handle<Tensor> missing : handles.subList(submitted, TENSORS)) {
                assertThatThrownBy(missing::join)
                        .isInstanceOf(MismatchException.class)
                        .hasMessageContaining("rank " + failing)
                        .hasMessageContaining("Infinity in batch " + step);
            }
            comm.failStep("another rank failed");
        }
        for (int i = 0; i < submitted; i++) {
            assertThat(handles.get(i).join().toIntArray())
                    .containsExactly(comm.size() * (100 * step + i));
        }
    }

    @MultiRankLayouts
    void everyRankMakesTheNextStepAfterAFailedOne(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            for (int failing = 0; failing < comm.size(); failing++) {
                                for (int submitted : new int[] {0, 2, TENSORS - 1, TENSORS}) {
                                    failedStep(comm, 1, failing, submitted);
                                    step(comm, 2);
                                }
                            }
                        });
    }

    @MultiRankLayouts
    void failureEndsALockedPlan(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            for (int failing = 0; failing < comm.size(); failing++) {
                                for (int step = 0; step < 6; step++) {
                                    step(comm, step);
                                }
                                failedStep(comm, 6, failing, 3);
                            }
                            step(comm, 7);
                        });
    }

    @Test
    void allRanksMayFailAtOnce() {
        World.run(
                3,
                comm -> {
                    for (int step = 0; step < 200; step++) {
                        List<Handle<Tensor>> handles = submit(comm, step, 0, comm.rank() + 1);
                        comm.failStep("rank " + comm.rank());
                        assertThat(handles).allMatch(Handle::isDone);
                        assertThat(handles.getFirst().failure()).isEmpty();
                        step(comm, step);
                    }
                });
    }

    @Test
    @SuppressWarnings("NullAway") // null on purpose
    void reasonIsRequired() {
        World.run(
                2,
                comm -> {
                    assertThatThrownBy(() -> comm.failStep(null))
                            .isInstanceOf(NullPointerException.class)
                            .hasMessageContaining("reason");
                    step(comm, 1);
                });
    }

    @Test
    void rankSubmitsNothingWhileItsStepEnds() {
        CountDownLatch checked = new CountDownLatch(1);
        World.run(
                2,
                comm -> {
                    if (comm.rank() == 1) {
                        assertThat(checked.await(1, TimeUnit.MINUTES)).isTrue();
                        comm.failStep("another rank failed");
                        return;
                    }
                    Thread failing = Thread.ofVirtual().start(() -> comm.failStep("bad batch"));
                    while (!comm.describeState().contains("has called failStep")) {
                        Thread.onSpinWait();
                    }
                    assertThatThrownBy(() -> comm.allreduce("x", new int[1], ReduceOp.SUM))
                            .isInstanceOf(IllegalStateException.class)
                            .hasMessageContaining("wait for failStep() to return");
                    checked.countDown();
                    failing.join();
                });
    }
}

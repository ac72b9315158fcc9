package org.horovod4j.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.AlltoallOptions;
import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Handle;
import org.horovod4j.HorovodException;
import org.horovod4j.MismatchException;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.ShutDownException;
import org.horovod4j.Tensor;
import org.horovod4j.option.RuntimeOptions;
import org.horovod4j.testing.Layout;
import org.horovod4j.testing.MultiRankLayouts;
import org.horovod4j.testing.World;
import org.horovod4j.testsupport.SlowCases;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;

/// A rank leaves while the others continue.
@Timeout(
        value = 60,
        threadMode = Timeout.ThreadMode.SEPARATE_THREAD) // a rank left waiting would never end
class ShutdownIT {
    /// How often ranks leave in an order that may differ each time.
    private static final int WORLDS = SlowCases.ENABLED ? 5 : 2;

    /// Every collective, long enough for ranks to end at different times.
    private static void everyCollective(Communicator communicator, int last) {
        int length = 200_003;
        int size = communicator.size();
        Tensor ones = Tensor.zeros(DataType.UINT8, Shape.of(length));
        ones.segment().fill((byte) 1);
        communicator.barrier();
        assertThat(communicator.allgather("gathered", ones).elementCount())
                .isEqualTo((long) length * size);
        communicator.reducescatter("scattered", ones, ReduceOp.SUM);
        communicator.alltoall("exchanged", ones, AlltoallOptions.splits(new int[size]));
        if (last == 0) {
            communicator.allreduce("last", ones, ReduceOp.SUM);
            assertThat(ones.toByteArray()).containsOnly(size);
        } else {
            communicator.broadcast("last", ones, last - 1);
            assertThat(ones.toByteArray()).containsOnly(1);
        }
    }

    @MultiRankLayouts
    void operationsCompletedByTheLeavingRankSucceedEverywhere(Layout layout) {
        for (int last = 0; last <= layout.size(); last++) {
            int kind = last;
            // Every rank leaves as soon as it is done, while others still run.
            layout.world().run(comm -> everyCollective(comm, kind));
        }
    }

    @MultiRankLayouts
    void lockedPlanOperationsCompletedByTheLeavingRankSucceedEverywhere(Layout layout) {
        for (int world = 0; world < WORLDS; world++) {
            layout.world()
                    .run(
                            comm -> {
                                for (int i = 0; i < 10; i++) {
                                    Tensor small = Tensor.of(new int[] {1});
                                    Tensor large = Tensor.of(new int[100_003]);
                                    Handle<Tensor> first =
                                            comm.allreduceAsync("first", large, ReduceOp.SUM);
                                    comm.allreduce("last", small, ReduceOp.SUM);
                                    first.join();
                                    assertThat(small.toIntArray()).containsExactly(comm.size());
                                }
                            });
        }
    }

    @MultiRankLayouts
    void mismatchReachesAllRanksWhenOneLeavesAfterIt(Layout layout) {
        for (int world = 0; world < WORLDS; world++) {
            layout.world()
                    .run(
                            comm -> {
                                Tensor tensor = Tensor.of(new int[1 + comm.rank()]);
                                assertThatThrownBy(() -> comm.allreduce("t", tensor, ReduceOp.SUM))
                                        .isInstanceOf(MismatchException.class);
                            });
        }
    }

    @MultiRankLayouts
    void theNextCollectiveOfTheOthersFailsAndNamesWhoLeft(Layout layout) {
        int leaver = layout.size() - 1;
        List<String> messages =
                layout.world()
                        .call(
                                comm -> {
                                    comm.barrier();
                                    if (comm.rank() == leaver) {
                                        comm.close();
                                        return "";
                                    }
                                    float[] tensor = {1, 2};
                                    String message = shutDown(() -> allreduce(comm, tensor));
                                    assertThat(tensor).containsExactly(1, 2);
                                    assertThat(shutDown(comm::barrier)).isEqualTo(message);
                                    return message;
                                });
        for (String message : messages.subList(0, leaver)) {
            assertThat(message).contains("rank " + leaver + " on host").contains("called shutdown");
        }
    }

    private static void allreduce(Communicator communicator, float[] values) {
        communicator.allreduce("next", values, ReduceOp.SUM);
    }

    private static String shutDown(Runnable collective) {
        try {
            collective.run();
        } catch (ShutDownException e) {
            return String.valueOf(e.getMessage());
        }
        throw new AssertionError("the collective went well, although a rank had left");
    }

    @MultiRankLayouts
    void pendingOperationsOfTheOthersFailWhenARankLeaves(Layout layout) {
        CountDownLatch submitted = new CountDownLatch(layout.size() - 1);
        layout.world()
                .run(
                        comm -> {
                            if (comm.rank() == 0) {
                                submitted.await();
                                comm.close();
                                return;
                            }
                            Tensor tensor = Tensor.of(new float[] {1});
                            Handle<Tensor> first =
                                    comm.allreduceAsync("first", tensor, ReduceOp.SUM);
                            Handle<Tensor> second = comm.allgatherAsync("second", tensor);
                            submitted.countDown();
                            assertThatThrownBy(first::join)
                                    .isInstanceOf(ShutDownException.class)
                                    .hasMessageContaining("rank 0 on host0 called shutdown");
                            assertThatThrownBy(second::join).isInstanceOf(ShutDownException.class);
                            assertThat(second.failure())
                                    .containsInstanceOf(ShutDownException.class);
                        });
    }

    /// The exception is created on thread `hvd-cycle`, because a wait with a timeout does not drive.
    @Test
    void exceptionShowsWhereTheProgramWaited() {
        CountDownLatch submitted = new CountDownLatch(1);
        World.run(
                2,
                comm -> {
                    if (comm.rank() == 0) {
                        submitted.await();
                        return;
                    }
                    Tensor tensor = Tensor.of(new float[] {1});
                    Handle<Tensor> pending = comm.allreduceAsync("a", tensor, ReduceOp.SUM);
                    submitted.countDown();
                    assertThatThrownBy(() -> pending.join(Duration.ofMinutes(1)))
                            .isInstanceOf(ShutDownException.class)
                            .satisfies(ShutdownIT::assertHasFrameOfThisTest);
                    assertThatThrownBy(() -> comm.allreduce("b", tensor, ReduceOp.SUM))
                            .isInstanceOf(ShutDownException.class)
                            .satisfies(ShutdownIT::assertHasFrameOfThisTest);
                });
    }

    /// Thread `hvd-stall` finds the stall and ends the job.
    @ParameterizedTest
    @ValueSource(strings = {"allreduce", "handle", "join", "addProcessSet"})
    void exceptionOfStallShutdownShowsWhereTheProgramWaited(String call) {
        CountDownLatch stalled = new CountDownLatch(1);
        World.of(2)
                .with(
                        Map.of(
                                RuntimeOptions.STALL_CHECK_TIME.variable(), "0.1",
                                RuntimeOptions.STALL_SHUTDOWN_TIME.variable(), "0.2"))
                .run(
                        comm -> {
                            if (comm.rank() == 0) {
                                stalled.await();
                                return;
                            }
                            try {
                                assertThatThrownBy(() -> waitIn(call, comm))
                                        .isInstanceOf(HorovodException.class)
                                        .hasMessageContaining("stalled for longer than")
                                        .satisfies(ShutdownIT::assertHasFrameOfThisTest);
                                assertThatThrownBy(comm::barrier)
                                        .hasMessageContaining("stalled for longer than")
                                        .satisfies(ShutdownIT::assertHasFrameOfThisTest);
                            } finally {
                                stalled.countDown();
                            }
                        });
    }

    private static void waitIn(String call, Communicator communicator) {
        Tensor tensor = Tensor.of(new float[] {1});
        switch (call) {
            case "allreduce" -> communicator.allreduce("a", tensor, ReduceOp.SUM);
            case "handle" ->
                    communicator
                            .allreduceAsync("a", tensor, ReduceOp.SUM)
                            .join(Duration.ofMinutes(1));
            case "join" -> communicator.join();
            case "addProcessSet" -> communicator.addProcessSet(0, 1);
            default -> throw new IllegalArgumentException(call);
        }
    }

    private static void assertHasFrameOfThisTest(Throwable thrown) {
        assertThat(thrown.getStackTrace())
                .extracting(StackTraceElement::getClassName)
                .contains(ShutdownIT.class.getName());
    }

    @Test
    void theLeavingRanksOwnOperationsFail() {
        World.run(
                2,
                comm -> {
                    if (comm.rank() == 1) {
                        // The other rank leaves, so this rank's barrier may or may not run.
                        assertThatThrownBy(comm::barrier).isInstanceOf(ShutDownException.class);
                        return;
                    }
                    Tensor tensor = Tensor.of(new float[] {1});
                    Handle<Tensor> running = comm.allreduceAsync("a", tensor, ReduceOp.SUM);
                    Handle<Tensor> queued = comm.allreduceAsync("b", tensor, ReduceOp.SUM);
                    comm.close();
                    comm.close();
                    assertThat(running.isDone()).isTrue();
                    assertThatThrownBy(queued::join)
                            .isInstanceOf(ShutDownException.class)
                            .hasMessageContaining("this rank has called shutdown");
                    assertThatThrownBy(() -> comm.allreduce("c", tensor, ReduceOp.SUM))
                            .isInstanceOf(ShutDownException.class)
                            .hasMessageContaining("call init");
                });
    }
}

package org.horovod4j.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.Handle;
import org.horovod4j.OperationTimeoutException;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.testing.FewLayouts;
import org.horovod4j.testing.Layout;
import org.horovod4j.testing.MultiRankLayouts;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;

@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class HandlesTest {
    @FewLayouts
    void concurrentOperationsGetTheirOwnResults(Layout layout) {
        int[] lengths = {0, 1, 7, 1_009, 10_007, 3, 100_003, 2};
        layout.world()
                .run(
                        comm -> {
                            List<Handle<Tensor>> handles = new ArrayList<>();
                            for (int i = 0; i < 200; i++) {
                                float[] values = new float[lengths[i % lengths.length]];
                                Arrays.fill(values, comm.rank() + i);
                                handles.add(
                                        comm.allreduceAsync(
                                                "tensor " + i, Tensor.of(values), ReduceOp.SUM));
                            }
                            float ranks = IntStream.range(0, comm.size()).sum();
                            for (int i = 0; i < handles.size(); i++) {
                                float[] sums = new float[lengths[i % lengths.length]];
                                Arrays.fill(sums, ranks + i * comm.size());
                                assertThat(handles.get(i).join().toFloatArray()).isEqualTo(sums);
                                assertThat(handles.get(i).isDone()).isTrue();
                                assertThat(handles.get(i).failure()).isEmpty();
                            }
                        });
    }

    @Test
    void nameWithHalfASurrogatePairIsRefused() {
        World.run(
                2,
                comm -> {
                    Tensor tensor = Tensor.of(new int[] {1});
                    assertThatThrownBy(() -> comm.allreduce("layer \uD83D", tensor, ReduceOp.SUM))
                            .isInstanceOf(IllegalArgumentException.class)
                            .hasMessageContaining("half of a surrogate pair");
                    assertThatThrownBy(
                                    () ->
                                            comm.groupedAllreduceAsync(
                                                    "\uDE00",
                                                    List.of(tensor, Tensor.of(new int[] {2})),
                                                    AllreduceOptions.sum()))
                            .isInstanceOf(IllegalArgumentException.class);
                    comm.allreduce("layer \uD83D\uDE00", tensor, ReduceOp.SUM);
                    assertThat(tensor.toIntArray()).containsExactly(2);
                });
    }

    @Test
    void tensorNamedBarrierDoesNotCollideWithBarrier() {
        World.run(
                2,
                comm -> {
                    Tensor tensor = Tensor.of(new int[] {1});
                    Handle<Tensor> handle = comm.allreduceAsync("barrier", tensor, ReduceOp.SUM);
                    comm.barrier();
                    assertThat(handle.join().toIntArray()).containsExactly(2);
                    assertThatThrownBy(() -> comm.allreduce("hvd.barrier", tensor, ReduceOp.SUM))
                            .isInstanceOf(IllegalArgumentException.class)
                            .hasMessageContaining("is the name of the barrier");
                });
    }

    @Test
    void handleCompletesOnlyWhenAllRanksHaveSubmitted() {
        CountDownLatch looked = new CountDownLatch(1);
        World.run(
                2,
                comm -> {
                    Tensor tensor = Tensor.of(new int[] {1});
                    if (comm.rank() == 1) {
                        looked.await();
                    }
                    Handle<Tensor> handle = comm.allreduceAsync("t", tensor, ReduceOp.SUM);
                    if (comm.rank() == 0) {
                        assertThat(handle.isDone()).isFalse();
                        assertThat(handle.failure()).isEmpty();
                        looked.countDown();
                    }
                    assertThat(handle.join()).isSameAs(tensor);
                    assertThat(handle.isDone()).isTrue();
                    assertThat(tensor.toIntArray()).containsExactly(2);
                });
    }

    @Test
    void joinWithTimeoutLeavesTheOperationRunning() {
        CountDownLatch timedOut = new CountDownLatch(1);
        World.run(
                2,
                comm -> {
                    Tensor tensor = Tensor.of(new int[] {1});
                    if (comm.rank() == 1) {
                        timedOut.await();
                    }
                    Handle<Tensor> handle = comm.allreduceAsync("t", tensor, ReduceOp.SUM);
                    if (comm.rank() == 0) {
                        Thread.currentThread().interrupt();
                        assertThatThrownBy(() -> handle.join(Duration.ofMillis(20)))
                                .isInstanceOf(OperationTimeoutException.class)
                                .hasMessageContaining("allreduce of 't'");
                        assertThat(Thread.interrupted()).isTrue();
                        assertThat(handle.failure()).isEmpty();
                        timedOut.countDown();
                    }
                    assertThat(handle.join(Duration.ofSeconds(Long.MAX_VALUE))).isSameAs(tensor);
                    assertThat(tensor.toIntArray()).containsExactly(2);
                });
    }

    @MultiRankLayouts
    void futuresAndCombinedHandlesEndWithTheOperations(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            List<Handle<Tensor>> handles = new ArrayList<>();
                            for (int i = 0; i < 20; i++) {
                                Tensor tensor = Tensor.of(new int[] {i});
                                handles.add(comm.allreduceAsync("t" + i, tensor, ReduceOp.SUM));
                            }
                            List<Integer> sums =
                                    Handle.allOf(handles)
                                            .thenApply(
                                                    all ->
                                                            all.stream()
                                                                    .map(t -> t.toIntArray()[0])
                                                                    .toList())
                                            .toCompletableFuture()
                                            .get();
                            assertThat(sums)
                                    .isEqualTo(
                                            IntStream.range(0, 20)
                                                    .mapToObj(i -> i * comm.size())
                                                    .toList());
                        });
    }

    @Test
    void aSynchronousCallNeedNotWaitForAsynchronousOnes() {
        CountDownLatch done = new CountDownLatch(2);
        World.run(
                3,
                comm -> {
                    Tensor slow = Tensor.of(new int[] {1});
                    Tensor quick = Tensor.of(new int[] {1});
                    if (comm.rank() == 0) {
                        // This one submits 'slow' only when the others have 'quick'.
                        comm.allreduce("quick", quick, ReduceOp.SUM);
                        done.await();
                        comm.allreduce("slow", slow, ReduceOp.SUM);
                    } else {
                        Handle<Tensor> first = comm.allreduceAsync("slow", slow, ReduceOp.SUM);
                        comm.allreduce("quick", quick, ReduceOp.SUM);
                        assertThat(first.isDone()).isFalse();
                        done.countDown();
                        first.join();
                    }
                    assertThat(quick.toIntArray()).containsExactly(3);
                    assertThat(slow.toIntArray()).containsExactly(3);
                });
    }

    @Test
    void nameInFlightIsRejectedAndReusableAfterwards() {
        CountDownLatch refused = new CountDownLatch(1);
        World.run(
                2,
                comm -> {
                    Tensor tensor = Tensor.of(new int[] {1});
                    if (comm.rank() == 1) {
                        refused.await();
                    }
                    Handle<Tensor> first = comm.allreduceAsync("twice", tensor, ReduceOp.SUM);
                    if (comm.rank() == 0) {
                        assertThatThrownBy(() -> comm.allreduceAsync("twice", tensor, ReduceOp.SUM))
                                .isInstanceOf(IllegalArgumentException.class)
                                .hasMessageContaining("'twice' is in flight");
                        assertThatThrownBy(() -> comm.allgather("twice", tensor))
                                .isInstanceOf(IllegalArgumentException.class);
                        refused.countDown();
                    }
                    first.join();
                    comm.barrier();
                    comm.allreduce("twice", tensor, ReduceOp.SUM);
                    assertThat(tensor.toIntArray()).containsExactly(4);
                });
    }

    @Test
    void interruptDoesNotEndJoinAndIsPreserved() {
        CountDownLatch interrupted = new CountDownLatch(1);
        World.run(
                2,
                comm -> {
                    Tensor tensor = Tensor.of(new int[] {1});
                    if (comm.rank() == 1) {
                        interrupted.await();
                    }
                    Handle<Tensor> handle = comm.allreduceAsync("t", tensor, ReduceOp.SUM);
                    if (comm.rank() == 0) {
                        Thread.currentThread().interrupt();
                        interrupted.countDown();
                        handle.join();
                        assertThat(Thread.interrupted()).isTrue();
                    }
                    assertThat(handle.join().toIntArray()).containsExactly(2);
                });
    }
}

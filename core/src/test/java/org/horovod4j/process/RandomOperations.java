package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.AlltoallOptions;
import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Handle;
import org.horovod4j.MismatchException;
import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;

import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;

/// Random operations of all kinds, in rounds of any length and order. Some rounds repeat often
/// enough to become a plan. From time to time there is a mismatch, a join, a failed step, or a new process set.
///
/// `common` decides what is done, equally on all ranks. `own` decides when and in which order.
final class RandomOperations {
    /// More than the cache holds, so that evicted names are submitted again.
    private static final int NAMES = 3_000;

    private static final int MOST_OPERATIONS = 30;
    private static final int MOST_ELEMENTS = 50_000;

    private final Communicator comm;
    private final Random common;
    private final Random own;
    private final Tensor shared;

    RandomOperations(Communicator comm, long seed) {
        this.comm = comm;
        this.common = new Random(seed);
        this.own = new Random(seed + 1 + comm.rank());
        this.shared = comm.allocate(DataType.INT32, Shape.of(MOST_ELEMENTS));
    }

    void round() {
        List<RandomOperation> drawn = draw();
        int repeats = common.nextInt(4) == 0 ? 2 + common.nextInt(20) : 1;
        for (int i = 0; i < repeats; i++) {
            run(drawn, comm);
        }
        switch (common.nextInt(10)) {
            case 0 -> submitMismatch();
            case 1 -> joinEarly();
            case 2 -> useProcessSet();
            case 3 -> comm.barrier();
            case 4 -> failStep();
            default -> {} // on with the next round
        }
    }

    /// @param length the number of rows or elements
    private record RandomOperation(String name, int kind, int length) {}

    private List<RandomOperation> draw() {
        Set<String> names = new LinkedHashSet<>();
        int operations = 1 + common.nextInt(MOST_OPERATIONS);
        while (names.size() < operations) {
            names.add("tensor " + common.nextInt(NAMES));
        }
        List<RandomOperation> drawn = new ArrayList<>();
        for (String name : names) {
            int length = (int) Math.expm1(common.nextDouble() * Math.log1p(MOST_ELEMENTS));
            drawn.add(new RandomOperation(name, common.nextInt(8), length));
        }
        return drawn;
    }

    private void run(List<RandomOperation> drawn, Communicator among) {
        List<RandomOperation> mine = new ArrayList<>(drawn);
        if (own.nextBoolean()) {
            Collections.shuffle(mine, own);
        }
        if (own.nextInt(50) == 0) {
            LockSupport.parkNanos(1 + own.nextInt(5_000_000)); // the others wait
        }
        boolean lendable = true;
        List<Runnable> checks = new ArrayList<>();
        for (RandomOperation each : mine) {
            checks.add(start(each, among, lendable));
            lendable &= each.kind() != 1;
        }
        checks.forEach(Runnable::run);
    }

    /// Submits an operation, and returns how to wait for it and check it.
    ///
    /// @param lendable whether the tensor in shared memory is free
    private Runnable start(RandomOperation randomOperation, Communicator among, boolean lendable) {
        String name = randomOperation.name();
        int length = randomOperation.length();
        int rank = among.rank();
        int size = among.size();
        int sum = size * (size - 1) / 2;
        return switch (randomOperation.kind()) {
            case 0 -> {
                Handle<Tensor> handle =
                        among.broadcastAsync(name, filled(length, rank), last(among));
                yield () -> assertAll(handle.join(), length, size - 1);
            }
            case 1 -> {
                Tensor tensor =
                        lendable && among.equals(comm)
                                ? fill(sharedTensor(length), rank)
                                : filled(length, rank);
                Handle<Tensor> handle = among.allreduceAsync(name, tensor, ReduceOp.SUM);
                yield () -> assertAll(handle.join(), length, sum);
            }
            case 2 -> {
                Handle<Tensor> handle = among.allgatherAsync(name, filled(rank, rank));
                int[] expected =
                        IntStream.range(0, size)
                                .flatMap(r -> IntStream.generate(() -> r).limit(r))
                                .toArray();
                yield () -> assertThat(handle.join().toIntArray()).as(name).isEqualTo(expected);
            }
            case 3 -> {
                var handle =
                        among.alltoallAsync(
                                name, filled(size, rank), AlltoallOptions.equalSplits());
                int[] expected = IntStream.range(0, size).toArray();
                yield () ->
                        assertThat(handle.join().tensor().toIntArray())
                                .as(name)
                                .isEqualTo(expected);
            }
            case 4 -> {
                Handle<Tensor> handle =
                        among.reducescatterAsync(name, filled(size, rank), ReduceOp.SUM);
                yield () -> assertAll(handle.join(), 1, sum);
            }
            case 5 -> {
                List<Tensor> group = List.of(filled(length / 2, 1), filled(3, rank));
                Handle<List<Tensor>> handle =
                        among.groupedAllreduceAsync(name, group, ReduceOp.SUM);
                yield () -> {
                    assertAll(handle.join().getFirst(), length / 2, size);
                    assertAll(handle.join().getLast(), 3, sum);
                };
            }
            default -> {
                float[] values = new float[length];
                Arrays.fill(values, rank);
                Handle<Tensor> handle = among.allreduceAsync(name, Tensor.of(values), ReduceOp.SUM);
                float[] expected = new float[length];
                Arrays.fill(expected, sum);
                yield () -> assertThat(handle.join().toFloatArray()).as(name).isEqualTo(expected);
            }
        };
    }

    private void submitMismatch() {
        int wrong = common.nextInt(comm.size());
        Tensor tensor = filled(comm.rank() == wrong ? 3 : 4, 0);
        assertThatThrownBy(() -> comm.allreduce("mistaken", tensor, ReduceOp.SUM))
                .isInstanceOf(MismatchException.class)
                .hasMessageContaining("[3] on rank " + wrong);
    }

    private void joinEarly() {
        int early = common.nextInt(comm.size());
        int count = 1 + common.nextInt(5);
        for (int i = 0; i < count && comm.rank() != early; i++) {
            Tensor sum = comm.allreduce("joined " + i, filled(100, comm.rank()), ReduceOp.SUM);
            assertAll(sum, 100, comm.size() * (comm.size() - 1) / 2 - early);
        }
        assertThat(comm.join()).isNotEqualTo(early);
    }

    /// A step fails on one rank or on several, each of which has submitted some of its operations.
    private void failStep() {
        int operations = 1 + common.nextInt(8);
        int[] submitted = new int[comm.size()];
        Arrays.setAll(
                submitted, _ -> common.nextBoolean() ? operations : common.nextInt(operations + 1));
        int complete = Arrays.stream(submitted).min().orElseThrow();
        List<Handle<Tensor>> handles = new ArrayList<>();
        for (int i = 0; i < submitted[comm.rank()]; i++) {
            handles.add(comm.allreduceAsync("failed " + i, filled(100, comm.rank()), ReduceOp.SUM));
        }
        if (submitted[comm.rank()] < operations || own.nextBoolean()) {
            comm.failStep("a random failure");
        } else {
            handles.subList(complete, operations).forEach(RandomOperations::assertFailed);
            comm.failStep("of another rank");
        }
        handles.stream().skip(complete).forEach(RandomOperations::assertFailed);
        for (Handle<Tensor> handle : handles.subList(0, complete)) {
            assertAll(handle.join(), 100, comm.size() * (comm.size() - 1) / 2);
        }
    }

    private static void assertFailed(Handle<Tensor> handle) {
        assertThatThrownBy(handle::join)
                .isInstanceOf(MismatchException.class)
                .hasMessageContaining("has failed: ");
    }

    private void useProcessSet() {
        int[] ranks = IntStream.range(0, comm.size()).filter(_ -> common.nextInt(3) > 0).toArray();
        List<RandomOperation> drawn = draw();
        if (ranks.length == 0 || ranks.length == comm.size()) {
            return;
        }
        ProcessSet set = comm.addProcessSet(ranks);
        if (set.isIncluded()) {
            run(drawn, set.communicator());
        }
        assertThat(comm.removeProcessSet(set)).isTrue();
    }

    private static int last(Communicator among) {
        return among.size() - 1;
    }

    private Tensor sharedTensor(int length) {
        return Tensor.of(
                shared.segment().asSlice(0, (long) length * Integer.BYTES), DataType.INT32, length);
    }

    private static Tensor filled(int length, int value) {
        return fill(Tensor.zeros(DataType.INT32, Shape.of(length)), value);
    }

    private static Tensor fill(Tensor tensor, int value) {
        for (int i = 0; i < tensor.elementCount(); i++) {
            tensor.segment().setAtIndex(ValueLayout.JAVA_INT, i, value);
        }
        return tensor;
    }

    private static void assertAll(Tensor tensor, int length, int value) {
        int[] expected = new int[length];
        Arrays.fill(expected, value);
        assertThat(tensor.toIntArray()).isEqualTo(expected);
    }
}

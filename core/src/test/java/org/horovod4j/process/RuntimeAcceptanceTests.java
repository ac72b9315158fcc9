package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import org.horovod4j.Communicator;
import org.horovod4j.Handle;
import org.horovod4j.MismatchException;
import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.ReducescatterOptions;
import org.horovod4j.Scale;
import org.horovod4j.Tensor;
import org.horovod4j.option.JoinAverage;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;

/// Behaviour that Horovod's own tests demand of a runtime.
///
/// Values are small whole numbers: every order of addition gives the exact sum. Each test restores
/// the state before it, so tests run in any order and repeatedly.
///
/// @param joinAverage what averages are divided by while a rank has joined
record RuntimeAcceptanceTests(Communicator comm, JoinAverage joinAverage) {
    /// Enough steps to lock a plan and then follow it.
    private static final int STEPS = 12;

    private static final int MANY = 60;

    /// Runs each test twice: while the ranks negotiate, and while a plan is locked.
    void run() {
        List<Runnable> rows = new ArrayList<>(new CompressionAcceptanceTests(comm).all());
        rows.addAll(
                List.of(
                        this::differentShapesFailEverywhere,
                        this::differentTypesFailEverywhere,
                        this::setsReduceConcurrently,
                        this::reducescatterScalesAndRefuses,
                        new JoinAcceptanceTests(comm, joinAverage)::otherRanksGoOnWhileOneHasJoined,
                        this::barriersAmongPendingOperations,
                        this::adasumAddsAndAverages,
                        this::setsComeAndGo));
        rows.forEach(Runnable::run);
        manyAreNotDoneAtOnce();
        for (Runnable row : rows) {
            steps();
            row.run();
        }
        steps();
    }

    /// A submitted operation is not complete at once: it is fused with those that follow.
    ///
    /// Runs once, with its own names. A program that asks for the first result before it has
    /// submitted the last operation looks as if it waited, and on a busy machine the plan would be
    /// left.
    private void manyAreNotDoneAtOnce() {
        List<Handle<Tensor>> handles = new ArrayList<>();
        boolean instantly = true;
        for (int i = 0; i < MANY; i++) {
            Tensor tensor = Tensor.of(filled(length(i), i + comm.rank()));
            Handle<Tensor> handle = comm.allreduceAsync("polled " + i, tensor, ReduceOp.SUM);
            instantly &= handle.isDone();
            handles.add(handle);
        }
        assertThat(instantly).as("all done as soon as submitted").isFalse();
        assertSums(handles, 0);
    }

    /// Many tensors of different sizes at once, in a different order on each rank.
    void steps() {
        List<Integer> order = new ArrayList<>(IntStream.range(0, MANY).boxed().toList());
        Collections.rotate(order, comm.rank());
        for (int step = 0; step < STEPS; step++) {
            List<Handle<Tensor>> handles = new ArrayList<>(Collections.nCopies(MANY, null));
            for (int i : order) {
                Tensor tensor = Tensor.of(filled(length(i), step + i + comm.rank()));
                handles.set(i, comm.allreduceAsync("many " + i, tensor, ReduceOp.SUM));
            }
            assertSums(handles, step);
        }
    }

    private void assertSums(List<Handle<Tensor>> handles, int step) {
        for (int i = 0; i < MANY; i++) {
            float sum = comm.size() * (step + i) + sumOfRanks();
            assertThat(handles.get(i).join().toFloatArray()).isEqualTo(filled(length(i), sum));
        }
    }

    private static int length(int i) {
        return switch (i % 5) {
            case 0 -> 0;
            case 1 -> 1;
            case 2 -> 17;
            case 3 -> 1_009;
            default -> 10_007;
        };
    }

    private void differentShapesFailEverywhere() {
        int edge = 17 + comm.rank();
        Tensor cube = Tensor.of(new float[edge * edge * edge], edge, edge, edge);
        assertThatThrownBy(() -> comm.allreduce("cube", cube, ReduceOp.SUM))
                .isInstanceOf(MismatchException.class)
                .hasMessageContainingAll("allreduce of 'cube'", "[17, 17, 17] on rank 0", "rank 1");
        Tensor flat =
                Tensor.of(
                        new float[289], comm.rank() == 0 ? new long[] {289} : new long[] {17, 17});
        assertThatThrownBy(() -> comm.allreduce("cube", flat, ReduceOp.SUM))
                .isInstanceOf(MismatchException.class)
                .hasMessageContainingAll("[289] on rank 0", "[17, 17] on rank");
        assertSums("cube", comm, sumOfRanks());
    }

    private void differentTypesFailEverywhere() {
        Tensor tensor = isOdd() ? Tensor.of(new int[9]) : Tensor.of(new float[9]);
        assertThatThrownBy(() -> comm.allreduce("typed", tensor, ReduceOp.SUM))
                .isInstanceOf(MismatchException.class)
                .hasMessageContainingAll("float32 on rank", "int32 on rank");
        assertSums("typed", comm, sumOfRanks());
    }

    /// The sets of even and of odd ranks, created at the start of the program, do not wait for each
    /// other.
    private void setsReduceConcurrently() {
        ProcessSet mine = comm.processSets().get(isOdd() ? 2 : 1);
        Communicator half = mine.communicator();
        assertThat(half.size()).isEqualTo(mine.size());
        assertThat(half.rank()).isEqualTo(comm.rank() / 2);
        int sum = mine.ranks().stream().mapToInt(each -> each).sum();
        for (int step = 0; step < STEPS; step++) {
            Handle<Tensor> world =
                    comm.allreduceAsync(
                            "both", Tensor.of(filled(1_009, comm.rank())), ReduceOp.SUM);
            Handle<Tensor> part =
                    half.allreduceAsync(
                            "both", Tensor.of(filled(1_009, comm.rank())), ReduceOp.SUM);
            assertThat(part.join().toFloatArray()).isEqualTo(filled(1_009, sum));
            assertThat(world.join().toFloatArray()).isEqualTo(filled(1_009, sumOfRanks()));
        }
        int root = mine.size() - 1;
        Tensor sent = half.broadcast("of the set", Tensor.of(filled(5, comm.rank())), root);
        assertThat(sent.toFloatArray()).isEqualTo(filled(5, mine.jobRank(root)));
        assertThat(half.allgatherObject("ranks", comm.rank())).isEqualTo(mine.ranks());
    }

    private void reducescatterScalesAndRefuses() {
        Tensor scalar = Tensor.of(new float[] {1}).reshape();
        assertThatThrownBy(() -> comm.reducescatter("scalar", scalar, ReduceOp.SUM))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("a scalar has none");
        Tensor row = Tensor.of(new float[8]);
        assertThatThrownBy(() -> comm.reducescatter("row", row, ReduceOp.ADASUM))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("not ADASUM");
        List<Handle<Tensor>> handles = new ArrayList<>();
        for (int i = 0;
                i < 5;
                i++) { // which travel together, and divide evenly for no size of ours
            Tensor uneven = Tensor.of(filled(rows(i), comm.rank() + i));
            Scale scale = new Scale(2, 0.5 * (i + 1));
            handles.add(
                    comm.reducescatterAsync(
                            "uneven " + i, uneven, ReducescatterOptions.sum().withScale(scale)));
        }
        for (int i = 0; i < 5; i++) {
            float expected = (i + 1) * (sumOfRanks() + i * comm.size());
            int extra = comm.rank() < rows(i) % comm.size() ? 1 : 0;
            assertThat(handles.get(i).join().toFloatArray())
                    .isEqualTo(filled(rows(i) / comm.size() + extra, expected));
        }
    }

    private int rows(int i) {
        return comm.size() * 400 * i + 1;
    }

    private void barriersAmongPendingOperations() {
        Communicator half = comm.processSets().get(isOdd() ? 2 : 1).communicator();
        for (int step = 0; step < STEPS; step++) {
            List<Handle<Tensor>> pending = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                // In an order of each rank's own.
                pending.add(
                        switch ((i + comm.rank()) % 3) {
                            case 0 -> comm.broadcastAsync("sent", Tensor.of(filled(5, 1)), 1);
                            case 1 -> comm.allgatherAsync("shown", Tensor.of(new float[1_009]));
                            default ->
                                    comm.allreduceAsync(
                                            "summed", Tensor.of(new float[10_007]), ReduceOp.SUM);
                        });
            }
            half.barrier();
            comm.barrier();
            comm.barrier();
            half.barrier();
            pending.forEach(Handle::join);
        }
    }

    private void adasumAddsAndAverages() {
        float[] axis = new float[comm.size()];
        axis[comm.rank()] = 1;
        comm.allreduce("orthogonal", axis, ReduceOp.ADASUM);
        assertThat(axis).containsOnly(new float[] {1}, within(1e-6f));
        for (double magnitude : new double[] {1, Double.MIN_NORMAL / 8, 0x1p-520, 0x1p1000}) {
            double[] parallel = {magnitude, -2 * magnitude, 0};
            comm.allreduce("parallel", parallel, ReduceOp.ADASUM);
            assertThat(parallel)
                    .usingComparatorWithPrecision(magnitude * 1e-6)
                    .containsExactly(magnitude, -2 * magnitude, 0);
        }
    }

    /// The sets of even and of odd ranks are removed and created again.
    private void setsComeAndGo() {
        List<ProcessSet> halves = comm.processSets().subList(1, 3);
        for (ProcessSet half : halves) {
            assertThat(comm.removeProcessSet(half)).isTrue();
            assertThat(comm.removeProcessSet(half)).as("a second time").isFalse();
            assertThatThrownBy(half::communicator).isInstanceOf(IllegalStateException.class);
        }
        assertThat(comm.processSets()).containsExactly(comm.processSet());
        assertThat(comm.removeProcessSet(comm.processSet())).as("that of all ranks").isFalse();
        for (ProcessSet half : halves) {
            List<Integer> ranks = half.ranks();
            int[] backwards = ranks.reversed().stream().mapToInt(rank -> rank).toArray();
            ProcessSet again = comm.addProcessSet(backwards);
            assertThat(again.id()).as("a number comes back").isEqualTo(half.id());
            assertThat(again).hasToString("process set %d of ranks %s".formatted(half.id(), ranks));
            assertThat(comm.processSets()).endsWith(again);
            assertThat(again.isIncluded()).isEqualTo(ranks.contains(comm.rank()));
            if (again.isIncluded()) {
                int sum = ranks.stream().mapToInt(rank -> rank).sum();
                assertSums("of the new set", again.communicator(), sum);
            }
        }
        int[] all = IntStream.range(0, comm.size()).toArray();
        assertThatThrownBy(() -> comm.addProcessSet(all))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("already");
    }

    private void assertSums(String name, Communicator among, int expected) {
        float[] values = filled(3, comm.rank());
        among.allreduce(name, values, ReduceOp.SUM);
        assertThat(values).isEqualTo(filled(3, expected));
    }

    private boolean isOdd() {
        return comm.rank() % 2 == 1;
    }

    private int sumOfRanks() {
        return IntStream.range(0, comm.size()).sum();
    }

    static float[] filled(int length, float value) {
        float[] values = new float[length];
        Arrays.fill(values, value);
        return values;
    }
}

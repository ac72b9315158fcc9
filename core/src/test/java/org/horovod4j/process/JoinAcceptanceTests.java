package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.horovod4j.process.RuntimeAcceptanceTests.filled;

import org.horovod4j.AlltoallOptions;
import org.horovod4j.AlltoallResult;
import org.horovod4j.Communicator;
import org.horovod4j.Handle;
import org.horovod4j.MismatchException;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.option.JoinAverage;

import java.util.stream.IntStream;

/// The acceptance tests of `join`: one rank has joined, and the operations of the others stay
/// defined.
///
/// @param average what averages are divided by while a rank has joined
record JoinAcceptanceTests(Communicator comm, JoinAverage average) {
    void otherRanksGoOnWhileOneHasJoined() {
        int all = IntStream.range(0, comm.size()).sum();
        for (int first = 0; first < comm.size(); first++) {
            float[] cached = filled(3, comm.rank());
            comm.allreduce("cached", cached, ReduceOp.SUM);
            assertThat(cached).isEqualTo(filled(3, all));
            if (comm.rank() != first) {
                withoutRank(first);
            }
            int last = comm.join();
            assertThat(last).isNotEqualTo(first).isBetween(0, comm.size() - 1);
            assertThat(comm.allgatherObject("last", last)).containsOnly(last);
        }
    }

    /// None of these operations can complete before `joined` has joined, so it is not the last to
    /// join.
    private void withoutRank(int joined) {
        int[] others = IntStream.range(0, comm.size()).filter(rank -> rank != joined).toArray();
        sums(joined, others);
        reductions(others);
        shares(others);
        dataMovement(joined, others);
    }

    private void sums(int joined, int[] others) {
        int live = IntStream.of(others).sum();
        Handle<Tensor> cached =
                comm.allreduceAsync("cached", Tensor.of(filled(3, comm.rank())), ReduceOp.SUM);
        Tensor fresh = Tensor.of(filled(4, comm.rank()));
        Handle<Tensor> mean = comm.allreduceAsync("without " + joined, fresh, ReduceOp.AVERAGE);
        assertThat(cached.join().toFloatArray()).isEqualTo(filled(3, live));
        assertThat(mean.join().toFloatArray())
                .hasSize(4)
                .containsOnly(new float[] {(float) live / divisor(others)}, within(1e-6f));
    }

    /// If the joined rank contributed zeros, they would win each of the first three.
    private void reductions(int[] others) {
        assertReduced(ReduceOp.MIN, comm.rank() + 5, others[0] + 5);
        assertReduced(ReduceOp.MAX, -comm.rank() - 5, -others[0] - 5);
        int product = IntStream.of(others).map(rank -> rank + 2).reduce(1, (a, b) -> a * b);
        assertReduced(ReduceOp.PRODUCT, comm.rank() + 2, product);

        float[] axis = new float[comm.size()];
        axis[comm.rank()] = 1;
        comm.allreduce("orthogonal", axis, ReduceOp.ADASUM);
        float[] axes = new float[comm.size()];
        IntStream.of(others).forEach(rank -> axes[rank] = 1);
        assertThat(axis).containsExactly(axes, within(1e-6f));
    }

    private void assertReduced(ReduceOp op, int mine, int expected) {
        float[] values = filled(17, mine);
        comm.allreduce("by " + op, values, op);
        assertThat(values).as("%s", op).isEqualTo(filled(17, expected));
    }

    /// The joined rank takes part, but does not see the result.
    private void shares(int[] others) {
        int rows = 2 * comm.size() + 1;
        int begin = 2 * comm.rank() + Math.min(comm.rank(), 1);
        int end = 2 * (comm.rank() + 1) + 1;
        float[] mine = new float[rows];
        for (int row = 0; row < rows; row++) {
            mine[row] = row + comm.rank();
        }
        int live = IntStream.of(others).sum();
        float[] sums = new float[end - begin];
        float[] means = new float[end - begin];
        for (int row = begin; row < end; row++) {
            sums[row - begin] = others.length * row + live;
            means[row - begin] = sums[row - begin] / divisor(others);
        }
        assertThat(comm.reducescatter("shares", Tensor.of(mine.clone()), ReduceOp.SUM))
                .extracting(Tensor::toFloatArray)
                .isEqualTo(sums);
        Tensor averaged = comm.reducescatter("mean shares", Tensor.of(mine), ReduceOp.AVERAGE);
        assertThat(averaged.toFloatArray()).containsExactly(means, within(1e-5f));
    }

    private void dataMovement(int joined, int[] others) {
        Tensor gathered = comm.allgather("rows", Tensor.of(new int[] {comm.rank()}));
        assertThat(gathered.toIntArray()).isEqualTo(others);

        int[] toEach = IntStream.range(0, comm.size()).map(to -> 10 * comm.rank() + to).toArray();
        AlltoallResult alltoallResult =
                comm.alltoall("exchanged", Tensor.of(toEach), AlltoallOptions.equalSplits());
        assertThat(alltoallResult.tensor().toIntArray())
                .isEqualTo(IntStream.of(others).map(from -> 10 * from + comm.rank()).toArray());
        assertThat(alltoallResult.receivedSplits())
                .isEqualTo(
                        IntStream.range(0, comm.size())
                                .map(from -> from == joined ? 0 : 1)
                                .toArray());

        int root = others[others.length - 1];
        Tensor sent = comm.broadcast("from live", Tensor.of(filled(5, comm.rank())), root);
        assertThat(sent.toFloatArray()).isEqualTo(filled(5, root));
        Tensor vain = Tensor.of(new float[5]);
        assertThatThrownBy(() -> comm.broadcast("from joined", vain, joined))
                .isInstanceOf(MismatchException.class)
                .hasMessageContaining("root rank %d has joined".formatted(joined));
        comm.barrier();
    }

    private int divisor(int[] others) {
        return switch (average) {
            case ALL -> comm.size();
            case LIVE -> others.length;
        };
    }
}

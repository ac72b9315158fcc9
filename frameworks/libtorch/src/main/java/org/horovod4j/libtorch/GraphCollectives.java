package org.horovod4j.libtorch;

import org.horovod4j.AlltoallOptions;
import org.horovod4j.AlltoallResult;
import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;

import java.util.function.UnaryOperator;

/// Collectives inside a computation, with the gradients of Horovod, for any Java binding of PyTorch:
///
/// | forward       | gradient of this rank's input                                                  |
/// |---------------|--------------------------------------------------------------------------------|
/// | allreduce     | the gradients of all ranks, reduced by the same op                             |
/// | allgather     | this rank's rows of the sum of all gradients                                   |
/// | broadcast     | the sum of all gradients on the root rank, zeros on the others                 |
/// | alltoall      | the gradient rows, sent back to the ranks that their rows came from            |
/// | reducescatter | the gradients of all ranks, gathered; with SUM times the number of ranks       |
///
/// The gradient of a collective with name `x` uses names that begin with `x.gradient`.
public final class GraphCollectives {
    private GraphCollectives() {}

    /// The input of a collective in the graph of a binding.
    ///
    /// @param <A> an array of the binding
    public interface Input<A> {
        /// The elements in main memory.
        Tensor elements();

        /// A copy of the input that is part of the graph.
        ///
        /// @param forward changes the copy in place
        /// @param backward changes the gradient of the copy in place
        A inPlace(UnaryOperator<Tensor> forward, UnaryOperator<Tensor> backward);

        /// Makes the result of a collective a part of the graph, as computed from the input.
        ///
        /// @param value the result
        /// @param factor by which the gradient of the input is multiplied
        /// @param backward returns the gradient of the input for that of the result
        A connect(Tensor value, int factor, UnaryOperator<Tensor> backward);
    }

    /// Reduces the input over all ranks.
    ///
    /// @param op AVERAGE or SUM
    public static <A> A allreduce(
            Communicator communicator, String name, Input<A> input, ReduceOp op) {
        requireLinear("allreduce", name, op);
        return input.inPlace(
                tensor -> communicator.allreduce(name, tensor, op),
                gradient -> communicator.allreduce(gradientName(name), gradient, op));
    }

    public static <A> A allgather(Communicator communicator, String name, Input<A> input) {
        Tensor own = input.elements();
        long rows = own.shape().rank() == 0 ? 0 : own.shape().dimension(0);
        return input.connect(
                communicator.allgather(name, own),
                1,
                gradient -> {
                    long before = rowsBefore(communicator, gradientName(name) + ".rows", rows);
                    Tensor sum = communicator.allreduce(gradientName(name), gradient, ReduceOp.SUM);
                    return rows(sum, before, rows);
                });
    }

    /// The number of rows of lower ranks. With its rank: a rank that has joined contributes no row.
    private static long rowsBefore(Communicator communicator, String name, long rows) {
        Tensor own = Tensor.of(new long[] {communicator.rank(), rows}, 1, 2);
        long[] all = communicator.allgather(name, own).toLongArray();
        long before = 0;
        for (int i = 0; i < all.length; i += 2) {
            before += all[i] < communicator.rank() ? all[i + 1] : 0;
        }
        return before;
    }

    /// A copy of rows, in memory that stays valid.
    private static Tensor rows(Tensor tensor, long from, long count) {
        long rowBytes = tensor.shape().rowElements() * tensor.dataType().byteSize();
        return Tensor.of(
                        tensor.segment().asSlice(from * rowBytes, count * rowBytes),
                        tensor.dataType(),
                        tensor.shape().withRows(count))
                .copy();
    }

    public static <A> A broadcast(
            Communicator communicator, String name, Input<A> input, int rootRank) {
        return input.inPlace(
                tensor -> communicator.broadcast(name, tensor, rootRank),
                gradient -> {
                    Tensor sum = communicator.allreduce(gradientName(name), gradient, ReduceOp.SUM);
                    if (communicator.rank() != rootRank) {
                        sum.segment().fill((byte) 0);
                    }
                    return sum;
                });
    }

    /// The result of an alltoall.
    ///
    /// @param received the rows and their numbers, by rank
    public record Alltoall<A>(A array, AlltoallResult received) {}

    public static <A> Alltoall<A> alltoall(
            Communicator communicator, String name, Input<A> input, AlltoallOptions options) {
        Tensor own = input.elements();
        AlltoallResult received = communicator.alltoall(name, own, options);
        AlltoallOptions back =
                options.processSet()
                        .map(AlltoallOptions.splits(received.receivedSplits())::in)
                        .orElseGet(() -> AlltoallOptions.splits(received.receivedSplits()));
        A result =
                input.connect(
                        received.tensor(),
                        1,
                        gradient -> {
                            Tensor whole = Tensor.zeros(own.dataType(), own.shape());
                            Tensor sent =
                                    communicator
                                            .alltoall(gradientName(name), gradient, back)
                                            .tensor();
                            // rows after the last split were not sent
                            whole.segment().asSlice(0, sent.byteSize()).copyFrom(sent.segment());
                            return whole;
                        });
        return new Alltoall<>(result, received);
    }

    /// Reduces the input over all ranks, and returns to each its part of the rows.
    ///
    /// @param op AVERAGE or SUM
    public static <A> A reducescatter(
            Communicator communicator, String name, Input<A> input, ReduceOp op) {
        requireLinear("reducescatter", name, op);
        return input.connect(
                communicator.reducescatter(name, input.elements(), op),
                op == ReduceOp.SUM ? communicator.size() : 1, // as Horovod does
                gradient -> communicator.allgather(gradientName(name), gradient));
    }

    private static String gradientName(String name) {
        return name + ".gradient";
    }

    /// The gradient of a sum is the sum of gradients. Other reductions have no such simple gradient.
    private static void requireLinear(String collective, String name, ReduceOp op) {
        switch (op) {
            case AVERAGE, SUM -> {}
            case MIN, MAX, PRODUCT, ADASUM ->
                    throw new IllegalArgumentException(
                            """
                            differentiable %s of '%s': %s has no gradient that can be reduced
                            Use AVERAGE or SUM."""
                                    .formatted(collective, name, op));
        }
    }
}

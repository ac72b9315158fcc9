package org.horovod4j.optim;

import org.horovod4j.Communicator;
import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;

import java.util.Arrays;
import java.util.List;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/// Kinds that the ranks agree on once, when a gradient first exists on one of them.
///
/// Each rank tells what it has of each gradient. It is dense everywhere if it is dense anywhere, for that
/// rank may have launched it already; else sparse everywhere if it is sparse anywhere. So until then a
/// dense gradient can be launched as soon as it is ready, and what is sparse or missing waits for
/// the end of the window. Later a rank that has another kind converts it.
///
/// Costs an allgather of one byte for each parameter at the end of the first window, and of later
/// ones as long as a gradient exists nowhere.
final class AgreedKinds implements Kinds {
    private static final GradientKind[] KINDS = GradientKind.values();

    private final SparseGradients gradients;
    private final Communicator communicator;
    private final String name;
    private final Arithmetic arithmetic;

    /// What holds in this window.
    private final GradientKind[] kinds;

    /// What holds for good.
    private final GradientKind[] lasting;

    /// @param name under which the ranks agree
    AgreedKinds(
            SparseGradients gradients,
            Communicator communicator,
            String name,
            Arithmetic arithmetic) {
        this.gradients = gradients;
        this.communicator = communicator;
        this.name = name;
        this.arithmetic = arithmetic;
        this.kinds = new GradientKind[gradients.names().size()];
        this.lasting = new GradientKind[kinds.length];
        Arrays.fill(kinds, GradientKind.UNKNOWN);
        Arrays.fill(lasting, GradientKind.UNKNOWN);
    }

    /// Several wait until all their kinds are agreed on, since those that are dense travel in one
    /// operation, of which each rank must have the same idea.
    @Override
    public boolean settle(List<Integer> parameters) {
        if (parameters.size() == 1) {
            int only = parameters.getFirst();
            if (isNowhere(only) && gradients.kind(only) == GradientKind.DENSE) {
                kinds[only] = GradientKind.DENSE; // as all ranks will agree
            }
            return !isNowhere(only);
        }
        return parameters.stream().allMatch(this::isAgreed);
    }

    private boolean isAgreed(int parameter) {
        return lasting[parameter] != GradientKind.UNKNOWN;
    }

    @Override
    public void agree(IntPredicate takesPart) {
        if (IntStream.range(0, kinds.length).filter(takesPart).allMatch(this::isAgreed)) {
            return;
        }
        byte[] mine = new byte[kinds.length];
        for (int i = 0; i < mine.length; i++) {
            mine[i] = takesPart.test(i) ? (byte) gradients.kind(i).ordinal() : 0;
        }
        Tensor all = communicator.allgather(name, Tensor.of(mine, 1, mine.length));
        take(all.toByteArray());
        // A rank that has joined brings no row, and does not hear of what the others agree on.
        if (all.shape().dimension(0) == communicator.size()) {
            System.arraycopy(kinds, 0, lasting, 0, kinds.length);
        }
    }

    /// @param told a row of each rank
    private void take(byte[] told) {
        for (int i = 0; i < told.length; i++) {
            int parameter = i % kinds.length;
            GradientKind kind = KINDS[told[i]];
            if (!isAgreed(parameter) && kind.compareTo(kinds[parameter]) > 0) {
                kinds[parameter] = kind;
            }
        }
    }

    @Override
    public boolean isNowhere(int parameter) {
        return kinds[parameter] == GradientKind.UNKNOWN;
    }

    @Override
    public Gradient lend(int parameter) {
        return switch (kinds[parameter]) {
            case SPARSE -> new Gradient.Sparse(rows(parameter));
            case DENSE -> new Gradient.Dense(whole(parameter));
            case UNKNOWN ->
                    throw new IllegalStateException(
                            "the gradient of '%s' exists on no rank"
                                    .formatted(gradients.names().get(parameter)));
        };
    }

    private SparseTensor rows(int parameter) {
        if (gradients.kind(parameter) == GradientKind.UNKNOWN) {
            return gradients.lendNoRows(parameter);
        }
        return switch (gradients.lend(parameter)) {
            case Gradient.Sparse(SparseTensor rows) -> rows;
            case Gradient.Dense(Tensor whole) -> allRows(whole);
        };
    }

    private static SparseTensor allRows(Tensor whole) {
        long rows = whole.shape().dimension(0);
        return new SparseTensor(
                Tensor.of(LongStream.range(0, rows).toArray()), whole, whole.shape());
    }

    private Tensor whole(int parameter) {
        return switch (gradients.lend(parameter)) {
            case Gradient.Dense(Tensor whole) -> whole;
            case Gradient.Sparse(SparseTensor rows) -> arithmetic.dense(rows);
        };
    }

    @Override
    public void beginWindow() {
        System.arraycopy(lasting, 0, kinds, 0, kinds.length);
    }
}

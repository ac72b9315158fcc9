package org.horovod4j.optim;

import org.horovod4j.Communicator;
import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;

import java.util.Arrays;
import java.util.List;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/// Layouts that the ranks agree on once, when a gradient first exists on one of them.
///
/// Each rank publishes the layout of each gradient. A gradient is dense everywhere if it is dense on
/// one rank, since that rank may have launched it already; else it is sparse everywhere if it is
/// sparse on one rank. So before the agreement a dense gradient can be launched as soon as it is
/// ready, and a sparse or missing one waits for the end of the window. After the agreement a rank
/// with another layout converts its gradient.
///
/// Costs an allgather of one byte for each parameter at the end of the first window, and of later
/// windows as long as a gradient exists on no rank.
final class NegotiatedLayouts implements GradientLayouts {
    private static final GradientLayout[] LAYOUTS = GradientLayout.values();

    private final SparseGradients gradients;
    private final Communicator communicator;
    private final String name;
    private final GradientArithmetic gradientArithmetic;
    private final GradientTransfer transfer;

    /// The layouts of this window.
    private final GradientLayout[] windowLayouts;

    /// The layouts that all ranks have agreed on.
    private final GradientLayout[] agreedLayouts;

    /// @param name of the allgather
    NegotiatedLayouts(
            SparseGradients gradients,
            Communicator communicator,
            String name,
            GradientArithmetic gradientArithmetic) {
        this.gradients = gradients;
        this.communicator = communicator;
        this.name = name;
        this.gradientArithmetic = gradientArithmetic;
        this.transfer = new GradientTransfer(gradients, communicator);
        this.windowLayouts = new GradientLayout[gradients.names().size()];
        this.agreedLayouts = new GradientLayout[windowLayouts.length];
        Arrays.fill(windowLayouts, GradientLayout.UNKNOWN);
        Arrays.fill(agreedLayouts, GradientLayout.UNKNOWN);
    }

    /// A group waits until the layouts of all its members are agreed on: its dense members are one
    /// operation, which must be the same on each rank.
    @Override
    public boolean canLaunch(List<Integer> parameters) {
        if (parameters.size() == 1) {
            int only = parameters.getFirst();
            if (isAbsent(only) && gradients.layout(only) == GradientLayout.DENSE) {
                windowLayouts[only] = GradientLayout.DENSE; // as all ranks will agree
            }
            return !isAbsent(only);
        }
        return parameters.stream().allMatch(this::isAgreed);
    }

    private boolean isAgreed(int parameter) {
        return agreedLayouts[parameter] != GradientLayout.UNKNOWN;
    }

    @Override
    public void negotiate(IntPredicate takesPart) {
        if (IntStream.range(0, windowLayouts.length).filter(takesPart).allMatch(this::isAgreed)) {
            return;
        }
        byte[] own = new byte[windowLayouts.length];
        for (int i = 0; i < own.length; i++) {
            own[i] = takesPart.test(i) ? (byte) gradients.layout(i).ordinal() : 0;
        }
        Tensor all = communicator.allgather(name, Tensor.of(own, 1, own.length));
        merge(all.toByteArray());
        // A rank that has joined does not take part and does not learn the result.
        if (all.shape().dimension(0) == communicator.size()) {
            System.arraycopy(windowLayouts, 0, agreedLayouts, 0, windowLayouts.length);
        }
    }

    /// @param published a row for each rank
    private void merge(byte[] published) {
        for (int i = 0; i < published.length; i++) {
            int parameter = i % windowLayouts.length;
            GradientLayout layout = LAYOUTS[published[i]];
            if (!isAgreed(parameter) && layout.compareTo(windowLayouts[parameter]) > 0) {
                windowLayouts[parameter] = layout;
            }
        }
    }

    @Override
    public boolean isAbsent(int parameter) {
        return windowLayouts[parameter] == GradientLayout.UNKNOWN;
    }

    @Override
    public Gradient acquire(int parameter) {
        return switch (windowLayouts[parameter]) {
            case SPARSE -> new Gradient.Sparse(rows(parameter));
            case DENSE -> new Gradient.Dense(whole(parameter));
            case UNKNOWN ->
                    throw new AssertionError(
                            "the gradient of '%s' exists on no rank"
                                    .formatted(gradients.names().get(parameter)));
        };
    }

    private SparseTensor rows(int parameter) {
        if (gradients.layout(parameter) == GradientLayout.UNKNOWN) {
            return gradients.acquireEmpty(parameter);
        }
        return switch (gradients.acquire(parameter)) {
            case Gradient.Sparse(SparseTensor rows) -> rows;
            case Gradient.Dense(Tensor whole) -> allRows(transfer.toHost(whole));
        };
    }

    private static SparseTensor allRows(Tensor whole) {
        long rows = whole.shape().dimension(0);
        return new SparseTensor(
                Tensor.of(LongStream.range(0, rows).toArray()), whole, whole.shape());
    }

    private Tensor whole(int parameter) {
        return switch (gradients.acquire(parameter)) {
            case Gradient.Dense(Tensor whole) -> whole;
            case Gradient.Sparse(SparseTensor rows) ->
                    transfer.toDevice(gradientArithmetic.toDense(rows));
        };
    }

    @Override
    public void beginWindow() {
        System.arraycopy(agreedLayouts, 0, windowLayouts, 0, windowLayouts.length);
    }
}

package org.horovod4j.compression;

import org.horovod4j.Handle;
import org.horovod4j.Tensor;
import org.jspecify.annotations.Nullable;

/// What one tensor's values have not told the other ranks yet.
///
/// The residual changes when an operation ends well, and not when it fails: then nothing was sent,
/// and the step that is tried again finds what the failed one found.
final class ErrorFeedback {
    private volatile @Nullable DoubleView residual;
    private volatile @Nullable Handle<Tensor> latest;

    /// The values with what was left over before; `tensor` itself stays as it is.
    DoubleView addResidual(Tensor tensor) {
        DoubleView values = new DoubleView(tensor);
        DoubleView corrected = DoubleView.like(tensor, values.count());
        DoubleView left = residualLike(corrected);
        for (int i = 0; i < values.count(); i++) {
            corrected.set(i, values.get(i) + (left == null ? 0 : left.get(i)));
        }
        return corrected;
    }

    /// What is left over, if it is of a tensor of this type and length; one that changed starts
    /// anew.
    private @Nullable DoubleView residualLike(DoubleView values) {
        DoubleView left = residual;
        return left != null
                        && left.tensor().dataType() == values.tensor().dataType()
                        && left.count() == values.count()
                ? left
                : null;
    }

    /// Keeps what was not `sent` of the `corrected` values.
    ///
    /// Infinity and NaN are not kept, or one step that overflows would spoil all later ones. As
    /// they are the largest of all, at least one was sent, and every rank knows.
    void updateResidual(DoubleView corrected, int[] sent) {
        for (int position : sent) {
            corrected.set(position, 0);
        }
        for (int i = 0; i < corrected.count(); i++) {
            if (!Double.isFinite(corrected.get(i))) {
                corrected.set(i, 0);
            }
        }
        residual = corrected;
    }

    @Nullable Tensor residual() {
        DoubleView left = residual;
        return left == null ? null : left.tensor();
    }

    /// Makes sure that the operation before has left its residual: asked whether it is done, it
    /// ends.
    boolean isIdle() {
        Handle<Tensor> before = latest;
        return before == null || before.isDone();
    }

    Handle<Tensor> track(Handle<Tensor> handle) {
        latest = handle;
        return handle;
    }
}

package org.horovod4j.compression;

import org.horovod4j.Handle;
import org.horovod4j.Tensor;
import org.jspecify.annotations.Nullable;

/// The values of one tensor that have not been sent to the other ranks.
///
/// This residual changes only when an operation succeeds. After a failure a step can be tried again
/// with the same residual.
final class ErrorFeedback {
    private volatile @Nullable DoubleView residual;
    private volatile @Nullable Handle<Tensor> latest;

    /// The values plus the residual. `tensor` does not change.
    DoubleView addResidual(Tensor tensor) {
        DoubleView values = new DoubleView(tensor);
        DoubleView corrected = DoubleView.like(tensor, values.count());
        DoubleView left = residualLike(corrected);
        for (int i = 0; i < values.count(); i++) {
            corrected.set(i, values.get(i) + (left == null ? 0 : left.get(i)));
        }
        return corrected;
    }

    /// The residual, if type and length of the tensor are the same as before; otherwise none.
    private @Nullable DoubleView residualLike(DoubleView values) {
        DoubleView left = residual;
        return left != null
                        && left.tensor().dataType() == values.tensor().dataType()
                        && left.count() == values.count()
                ? left
                : null;
    }

    /// Makes the `corrected` values that were not `sent` the residual.
    ///
    /// Infinity and NaN are not kept, so a step that overflows does not affect later steps. They
    /// have the largest magnitudes, so at least one was sent, and every rank sees the overflow.
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

    /// Whether the operation before has stored its residual. `isDone` makes a finished one do so.
    boolean isIdle() {
        Handle<Tensor> before = latest;
        return before == null || before.isDone();
    }

    Handle<Tensor> track(Handle<Tensor> handle) {
        latest = handle;
        return handle;
    }
}

package org.horovod4j.optim;

import java.util.List;
import java.util.function.IntPredicate;

/// Whether gradients travel dense or as rows, the same on every rank.
sealed interface GradientLayouts permits FixedLayouts, NegotiatedLayouts {
    /// Whether these can be launched now, together and before [#negotiate].
    boolean canLaunch(List<Integer> parameters);

    /// Finds out with all other ranks, at the end of a window.
    ///
    /// @param takesPart which parameters are reduced in this window, the same on every rank
    void negotiate(IntPredicate takesPart);

    /// Whether the parameter has no gradient: on no rank, after [#negotiate].
    boolean isAbsent(int parameter);

    /// Lends the gradient as the kind that all ranks have it in.
    Gradient acquire(int parameter);

    /// A new window begins.
    void beginWindow();
}

package org.horovod4j.optim;

import java.util.List;
import java.util.function.IntPredicate;

/// Whether gradients are exchanged dense or as sparse rows: the same on every rank.
sealed interface GradientLayouts permits GradientLayouts.Fixed, NegotiatedLayouts {
    /// Whether these parameters can be launched now, together and before [#negotiate].
    boolean canLaunch(List<Integer> parameters);

    /// Agrees with all other ranks, at the end of a window.
    ///
    /// @param takesPart the parameters that are reduced in this window, the same on every rank
    void negotiate(IntPredicate takesPart);

    /// Whether no rank has a gradient of the parameter, after [#negotiate].
    boolean isAbsent(int parameter);

    /// The gradient in the layout that all ranks use.
    Gradient acquire(int parameter);

    /// Begins a new window.
    void beginWindow();

    /// Layouts that need no agreement: gradients are always dense, there is one rank, or the
    /// framework gives a gradient the same layout on all ranks.
    record Fixed(Gradients gradients) implements GradientLayouts {
        @Override
        public boolean canLaunch(List<Integer> parameters) {
            return true;
        }

        @Override
        public void negotiate(IntPredicate takesPart) {}

        @Override
        public boolean isAbsent(int parameter) {
            return false;
        }

        @Override
        public Gradient acquire(int parameter) {
            return gradients.acquire(parameter);
        }

        @Override
        public void beginWindow() {}
    }
}

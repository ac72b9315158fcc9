package org.horovod4j.optim;

import java.util.List;

/// A framework's parameters and their gradients, known by their position.
///
/// For Adasum an adapter lends what it would change a parameter by, and on getting it back changes
/// it by that: the reducer does not mind.
public interface Gradients {
    /// The parameters' names: the same on every rank, in the same order, and each once.
    List<String> names();

    /// Whether the parameter takes part in the coming step; may change between steps, on all ranks
    /// together.
    boolean isTrainable(int parameter);

    /// Whether something can be lent while a backward pass is still running; else everything is
    /// launched when the step synchronizes. The same on every rank; may change between steps.
    default boolean canAcquireDuringBackward() {
        return true;
    }

    /// Lends the gradient, zeros if no backward pass came to the parameter. Where the framework's
    /// own memory cannot be lent, a copy.
    ///
    /// Called once in a step, by the thread that tells that the gradient is ready or by the one
    /// that synchronizes.
    Gradient acquire(int parameter);

    /// Takes back what was lent, reduced. Dense gradients come back in the memory that was lent;
    /// sparse ones in memory of their own, with their rows in ascending order and each once. They come
    /// back dense if that is smaller, or if they have not left this rank.
    void setReduced(int parameter, Gradient reduced);
}

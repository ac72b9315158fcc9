package org.horovod4j.tensorflow.training;

import org.tensorflow.Operand;

import java.util.List;

/// What a [TrainingSession] calls during training, on all ranks.
///
/// A hook may communicate, if it does so in the same steps on all ranks. An exception of a hook ends
/// the training.
///
/// ```java
/// TrainingHook stopAtLowLoss = new TrainingHook() {
///     @Override
///     public List<Operand<?>> fetches() {
///         return List.of(meanLoss); // an allreduce, so it is equal on all ranks
///     }
///
///     @Override
///     public void afterStep(TrainingStep step) {
///         if (step.scalar(meanLoss) < 0.01) {
///             step.session().requestStop();
///         }
///     }
/// };
/// ```
public interface TrainingHook {
    /// Called once, before the first step. Variables are restored, and are equal on all ranks.
    default void atStart(TrainingSession session) {}

    /// Outputs of the graph that this hook needs in each step. They are computed in the same run.
    default List<Operand<?>> fetches() {
        return List.of();
    }

    /// Called after each step.
    default void afterStep(TrainingStep step) {}

    /// Called after the last step, unless the training has failed.
    default void atEnd(TrainingSession session) {}
}

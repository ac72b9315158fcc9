package org.horovod4j.training;

/// The learning rate of each update.
@FunctionalInterface
public interface LearningRate {
    /// The learning rate of an update.
    ///
    /// @param update its number, from 1
    float at(int update);

    /// The same learning rate for all updates.
    static LearningRate constant(float rate) {
        return _ -> rate;
    }
}

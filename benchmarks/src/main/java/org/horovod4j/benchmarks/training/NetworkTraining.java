package org.horovod4j.benchmarks.training;

/// The training of a network on random images, in one [TrainingMode].
public interface NetworkTraining extends AutoCloseable {
    /// The result of [#step] if the wait is part of the backward pass, and cannot be timed.
    long UNKNOWN = -1;

    /// Runs one step.
    ///
    /// @return the nanoseconds from the end of the backward pass until all gradients are averaged,
    ///     or [#UNKNOWN]
    long step();

    /// Runs one step on a few small images. It runs the same Java code as a full step.
    void warmUpStep();

    long gradientBytes();

    /// A checksum over all bits of all weights. Ranks that trained together must have the same
    /// checksum.
    long checksum();

    /// Checks that the steps ran in the right mode.
    ///
    /// @throws IllegalStateException if they did not, because the times would be misleading
    void checkMode();

    @Override
    void close();
}

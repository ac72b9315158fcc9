package org.horovod4j.collectives.algorithm;

/// Reduces an array over the members of a group. All members end with the same bits.
public interface Allreduce {
    /// Starts a reduction. It is done when all messages are that were started until then: see
    /// `PointToPoint.await`. The array must not be used before.
    void start(LinkGroup group, Operands operands);

    /// Returns when the reduction is done.
    default void run(LinkGroup group, Operands operands) {
        start(group, operands);
        group.pointToPoint().awaitAll();
    }
}

package org.horovod4j.transport;

import java.util.function.Consumer;

/// Calls a method out of line: the JIT compiler does not inline it into its caller.
///
/// An operation passes through some fifteen methods, all equally hot. HotSpot's optimizing compiler
/// compiles each of them, and each time inlines everything below it. So it compiled the same code
/// again and again, for seconds on every rank, on cores that the ranks needed. A few out-of-line
/// calls divide the path into parts that are compiled once each.
///
/// The compiler inlines a call through an interface if at least nine of ten calls at that place have the
/// same target. All instances share the one place in [#call], and most programs use several targets
/// often. If one of them dominates, it is inlined everywhere, and the others still are not. A call
/// costs about three nanoseconds.
///
/// @param <T> the argument
public final class OutOfLineCall<T> {
    private final Consumer<T> target;

    public OutOfLineCall(Consumer<T> target) {
        this.target = target;
    }

    /// Calls the target, and throws what it throws.
    public void call(T argument) {
        target.accept(argument);
    }
}

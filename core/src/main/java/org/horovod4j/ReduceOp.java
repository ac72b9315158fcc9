package org.horovod4j;

/// How the values of all ranks are combined.
///
/// The order of the constants is part of the wire format: add new ones at the end.
public enum ReduceOp {
    /// The sum divided by the number of ranks. Not for `bool`. Integers truncate toward zero; their
    /// sum is computed in a wider type, so that it does not overflow, except for `int64`.
    AVERAGE,
    /// The sum; for `bool` the logical or. Integers wrap around.
    SUM,
    /// The least value; for `bool` the logical and.
    MIN,
    /// The greatest value; for `bool` the logical or.
    MAX,
    /// The product; for `bool` the logical and.
    PRODUCT,
    /// Adaptive summation of floating-point types: adds orthogonal gradients and averages parallel
    /// ones. For allreduce only; see docs/adasum.md.
    ADASUM
}

package org.horovod4j.collectives.kernel;

/// How two vectors become one: `unit * (left * (leftFactor * a) + right * (rightFactor * b))`.
///
/// @param left the weight of the left vector
/// @param right the weight of the right vector
/// @param leftFactor a power of two that brings the left vector into the middle of what a `double`
///     holds
/// @param rightFactor the same for the right vector
/// @param unit a power of two that brings the result back
public record AdasumWeights(
        double left, double right, double leftFactor, double rightFactor, double unit) {
    /// Whether all powers of two are 1, as with every type but `float64`.
    boolean isUnscaled() {
        return leftFactor == 1.0 && rightFactor == 1.0 && unit == 1.0;
    }
}

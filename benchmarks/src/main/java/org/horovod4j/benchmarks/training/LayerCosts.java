package org.horovod4j.benchmarks.training;

import org.horovod4j.benchmarks.runtime.ModelParameter;
import org.horovod4j.benchmarks.runtime.ResNet50;
import org.horovod4j.benchmarks.runtime.SyntheticCompute;

import java.util.List;

/// The parameters of ResNet-50 in the order of the backward pass, last layer first, with the cost
/// of each.
///
/// @param parameters the parameters of each layer
/// @param forwardIterations the iterations of [SyntheticCompute] that simulate the forward pass
/// @param backwardIterations the iterations of the backward pass for each parameter
record LayerCosts(
        List<ModelParameter> parameters, long forwardIterations, List<Long> backwardIterations) {
    /// The backward pass has two multiplications for each one in the forward pass: one for the
    /// gradient of the weights, and one for the gradient of the layer's input.
    private static final int BACKWARD_SHARE = 2;

    private static final int FORWARD_SHARE = 1;

    /// Divides the backward pass among the parameters in proportion to their multiplications.
    static LayerCosts of(long rounds) {
        List<ModelParameter> parameters = ResNet50.parameters().reversed();
        long backward = rounds * BACKWARD_SHARE / (BACKWARD_SHARE + FORWARD_SHARE);
        return new LayerCosts(
                parameters,
                rounds - backward,
                splitProportionally(
                        backward, parameters.stream().map(ResNet50::multiplications).toList()));
    }

    /// Whole numbers in proportion to the weights. Rounds the partial sums instead of the parts, so
    /// that many small parts are not all rounded to zero.
    static List<Long> splitProportionally(long total, List<Long> weights) {
        double unit = total / (double) weights.stream().mapToLong(Long::longValue).sum();
        Long[] shares = new Long[weights.size()];
        long weight = 0;
        long given = 0;
        for (int i = 0; i < shares.length; i++) {
            weight += weights.get(i);
            long due = Math.round(weight * unit);
            shares[i] = due - given;
            given = due;
        }
        return List.of(shares);
    }
}

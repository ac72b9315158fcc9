package org.horovod4j.benchmarks.training;

import org.horovod4j.benchmarks.runtime.ModelParameter;
import org.horovod4j.benchmarks.runtime.ResNet50;
import org.horovod4j.benchmarks.runtime.SyntheticCompute;

import java.util.List;

/// The parameters of ResNet-50 as a backward pass comes to them, last layer first, and how much work
/// it has with each.
///
/// @param parameters what each layer trains
/// @param forwardIterations the iterations of [SyntheticCompute] that stand for the forward pass
/// @param backwardIterations those that the backward pass takes for each parameter
record LayerCosts(
        List<ModelParameter> parameters, long forwardIterations, List<Long> backwardIterations) {
    /// A backward pass multiplies twice for each time in the forward pass: for the gradient of the
    /// weights, and for that of the layer's input.
    private static final int BACKWARD_SHARE = 2;

    private static final int FORWARD_SHARE = 1;

    /// Gives every parameter as much of the backward pass as it has of the network's multiplications.
    static LayerCosts of(long rounds) {
        List<ModelParameter> parameters = ResNet50.parameters().reversed();
        long backward = rounds * BACKWARD_SHARE / (BACKWARD_SHARE + FORWARD_SHARE);
        return new LayerCosts(
                parameters,
                rounds - backward,
                splitProportionally(
                        backward, parameters.stream().map(ResNet50::multiplications).toList()));
    }

    /// Whole numbers in proportion to the weights. Rounds the sums and not the parts, so that the many
    /// small parts are not all rounded away.
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

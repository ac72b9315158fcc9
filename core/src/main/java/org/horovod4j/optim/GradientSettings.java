package org.horovod4j.optim;

import org.horovod4j.Compressor;
import org.horovod4j.ReduceOp;
import org.horovod4j.compression.Compression;

import java.util.function.Predicate;

/// How gradients are reduced: what `DistributedOptimizer` of every framework can be asked for.
///
/// ```java
/// GradientSettings settings =
///         GradientSettings.builder().backwardPassesPerStep(4).compressor(Compression.FP16).build();
/// ```
///
/// All ranks must have the same settings.
///
/// @param op AVERAGE, SUM, or ADASUM, for which an adapter lends changes of weights, not gradients
/// @param compressor makes them smaller on the way
/// @param backwardPassesPerStep how many passes add to a gradient before it is reduced
/// @param averageAccumulated whether that sum is divided by `backwardPassesPerStep`, which it is
///     even if a window was ended early: its first gradients may have been launched by then, and
///     all ranks must divide alike
/// @param gradientGroups which of them travel together
/// @param predivideFactor an average is divided by it before the sum and by the rest afterwards,
///     where a sum over many ranks might overflow
/// @param sparseAsDense whether sparse gradients are made dense first
/// @param local parameters, by name, that each rank keeps for itself
/// @param scaleLocalGradients whether gradients of local parameters are divided by the number of
///     ranks, so that they are as large as averaged ones of a loss that all ranks share
/// @param prefix of the names under which ranks find each other's gradients: two optimizers whose
///     gradients are in flight at the same time need different ones
public record GradientSettings(
        ReduceOp op,
        Compressor compressor,
        int backwardPassesPerStep,
        boolean averageAccumulated,
        GradientGroups gradientGroups,
        double predivideFactor,
        boolean sparseAsDense,
        Predicate<String> local,
        boolean scaleLocalGradients,
        String prefix) {
    public static final GradientSettings DEFAULT =
            new GradientSettings(
                    ReduceOp.AVERAGE,
                    Compression.NONE,
                    1,
                    false,
                    new GradientGroups.None(),
                    1.0,
                    false,
                    _ -> false,
                    true,
                    "gradient");

    public GradientSettings {
        switch (op) {
            case AVERAGE, SUM, ADASUM -> {}
            case MIN, MAX, PRODUCT ->
                    throw new IllegalArgumentException(
                            "gradients are reduced by AVERAGE, SUM or ADASUM, not " + op);
        }
        if (backwardPassesPerStep < 1) {
            throw new IllegalArgumentException(
                    "backwardPassesPerStep is at least 1, not " + backwardPassesPerStep);
        }
        if (!(predivideFactor > 0 && predivideFactor < Double.POSITIVE_INFINITY)) {
            throw new IllegalArgumentException(
                    "predivideFactor is positive and finite, not " + predivideFactor);
        }
        if (predivideFactor != 1 && op != ReduceOp.AVERAGE) {
            throw new IllegalArgumentException(
                    """
                    predivideFactor %s splits the division of an average, but the op is %s
                    Leave it at 1, or reduce by AVERAGE."""
                            .formatted(predivideFactor, op));
        }
        if (averageAccumulated && op == ReduceOp.ADASUM) {
            throw new IllegalArgumentException(
                    """
                    averageAccumulated scales gradients, but ADASUM combines the changes they make
                    Divide the loss by the number of passes instead.""");
        }
    }

    /// Settings that begin with [#DEFAULT].
    public static Builder builder() {
        return new Builder();
    }

    /// The same, but for the number of passes.
    public GradientSettings withBackwardPassesPerStep(int passes) {
        return new GradientSettings(
                op,
                compressor,
                passes,
                averageAccumulated,
                gradientGroups,
                predivideFactor,
                sparseAsDense,
                local,
                scaleLocalGradients,
                prefix);
    }

    /// Settings in the making; they are checked when they are built.
    public static final class Builder {
        private ReduceOp op = DEFAULT.op;
        private Compressor compressor = DEFAULT.compressor;
        private int backwardPassesPerStep = DEFAULT.backwardPassesPerStep;
        private boolean averageAccumulated = DEFAULT.averageAccumulated;
        private GradientGroups gradientGroups = DEFAULT.gradientGroups;
        private double predivideFactor = DEFAULT.predivideFactor;
        private boolean sparseAsDense = DEFAULT.sparseAsDense;
        private Predicate<String> local = DEFAULT.local;
        private boolean scaleLocalGradients = DEFAULT.scaleLocalGradients;
        private String prefix = DEFAULT.prefix;

        private Builder() {}

        public Builder op(ReduceOp reduceOp) {
            op = reduceOp;
            return this;
        }

        public Builder compressor(Compressor value) {
            compressor = value;
            return this;
        }

        public Builder backwardPassesPerStep(int passes) {
            backwardPassesPerStep = passes;
            return this;
        }

        public Builder averageAccumulated(boolean yes) {
            averageAccumulated = yes;
            return this;
        }

        public Builder groups(GradientGroups value) {
            gradientGroups = value;
            return this;
        }

        public Builder predivideFactor(double factor) {
            predivideFactor = factor;
            return this;
        }

        public Builder sparseAsDense(boolean yes) {
            sparseAsDense = yes;
            return this;
        }

        public Builder local(Predicate<String> parameterName) {
            local = parameterName;
            return this;
        }

        public Builder scaleLocalGradients(boolean yes) {
            scaleLocalGradients = yes;
            return this;
        }

        public Builder prefix(String value) {
            prefix = value;
            return this;
        }

        public GradientSettings build() {
            return new GradientSettings(
                    op,
                    compressor,
                    backwardPassesPerStep,
                    averageAccumulated,
                    gradientGroups,
                    predivideFactor,
                    sparseAsDense,
                    local,
                    scaleLocalGradients,
                    prefix);
        }
    }
}

package org.horovod4j.optim;

import org.horovod4j.Compressor;
import org.horovod4j.ReduceOp;
import org.horovod4j.compression.Compression;

import java.util.OptionalInt;
import java.util.function.Predicate;

/// How gradients are reduced: the options of `DistributedOptimizer` in every framework.
///
/// ```java
/// GradientSettings settings =
///         GradientSettings.builder().backwardPassesPerStep(4).compressor(Compression.FP16).build();
/// ```
///
/// All ranks must have the same settings.
///
/// @param op AVERAGE, SUM, or ADASUM, for which an adapter returns changes of weights
/// @param compressor compresses gradients for the exchange
/// @param backwardPassesPerStep how many passes accumulate a gradient before it is reduced
/// @param averageAccumulated whether that sum is divided by `backwardPassesPerStep`, even if a
///     window ends early: its first gradients may be launched already, and all ranks must divide by
///     the same number
/// @param gradientGroups which gradients are reduced together
/// @param predivideFactor an average is divided by it before the sum and by the rest afterwards, so
///     that a sum over many ranks does not overflow
/// @param sparseAsDense whether sparse gradients are made dense first
/// @param local parameters, by name, that are not reduced
/// @param scaleLocalGradients whether gradients of local parameters are divided by the number of
///     ranks, as an average over a loss that all ranks share would be
/// @param prefix of the names of collectives: two optimizers that reduce gradients at the same time
///     need different prefixes
/// @param parameterCheckInterval how many steps pass between two checks that all ranks have the same
///     parameters; 0 for no check, empty for `HOROVOD_PARAMETER_CHECK_INTERVAL`
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
        String prefix,
        OptionalInt parameterCheckInterval) {
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
                    "gradient",
                    OptionalInt.empty());

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
                    predivideFactor %s splits the division of an average, but op is %s
                    Leave it at 1, or reduce by AVERAGE."""
                            .formatted(predivideFactor, op));
        }
        if (parameterCheckInterval.orElse(0) < 0) {
            throw new IllegalArgumentException(
                    "parameterCheckInterval is at least 0, not "
                            + parameterCheckInterval.getAsInt());
        }
        if (averageAccumulated && op == ReduceOp.ADASUM) {
            throw new IllegalArgumentException(
                    """
                    averageAccumulated scales gradients, but ADASUM combines changes of weights
                    Divide the loss by the number of passes instead.""");
        }
    }

    /// A builder that starts with [#DEFAULT].
    public static Builder builder() {
        return new Builder();
    }

    /// The same with another number of passes.
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
                prefix,
                parameterCheckInterval);
    }

    /// Builds settings; [#build] checks them.
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
        private OptionalInt parameterCheckInterval = DEFAULT.parameterCheckInterval;

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

        public Builder parameterCheckInterval(int steps) {
            parameterCheckInterval = OptionalInt.of(steps);
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
                    prefix,
                    parameterCheckInterval);
        }
    }
}

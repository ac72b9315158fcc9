package org.horovod4j.dl4j.keras;

import org.deeplearning4j.nn.conf.inputs.InputType;
import org.horovod4j.ConfigurationException;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.lossfunctions.ILossFunction;
import org.nd4j.linalg.lossfunctions.impl.LossBinaryXENT;
import org.nd4j.linalg.lossfunctions.impl.LossHinge;
import org.nd4j.linalg.lossfunctions.impl.LossPoisson;
import org.nd4j.linalg.lossfunctions.impl.LossSquaredHinge;

import java.nio.file.Path;

/// Losses that are means over the outputs in Keras, and sums in DL4J. The other ones are equal in both.
final class KerasLosses {
    private KerasLosses() {}

    /// The loss of DL4J that is the mean over the outputs.
    ///
    /// @param imported the loss that DL4J's import has chosen
    /// @param type the outputs of a sample; null if DL4J does not know them
    /// @throws ConfigurationException when DL4J has only the sum
    static ILossFunction asInKeras(Path path, ILossFunction imported, @Nullable InputType type) {
        return switch (imported) {
            case LossBinaryXENT _ -> {
                long outputs = outputs(path, imported, type);
                yield outputs == 1
                        ? imported
                        : new LossBinaryXENT(Nd4j.valueArrayOf(1, outputs, 1.0 / outputs));
            }
            case LossHinge _, LossSquaredHinge _, LossPoisson _ -> {
                if (outputs(path, imported, type) > 1) {
                    throw unsupported(path, imported, "more than one output");
                }
                yield imported;
            }
            default -> imported;
        };
    }

    private static long outputs(Path path, ILossFunction loss, @Nullable InputType type) {
        return switch (type) {
            case InputType.InputTypeFeedForward flat -> flat.getSize();
            case InputType.InputTypeRecurrent sequence -> sequence.getSize();
            case InputType.InputTypeConvolutional image -> image.getChannels();
            case null, default -> throw unsupported(path, loss, "outputs of type " + type);
        };
    }

    private static ConfigurationException unsupported(
            Path path, ILossFunction loss, String outputs) {
        return new ConfigurationException(
                """
                %s has the loss %s for %s: it is a mean in Keras, but a sum in DL4J
                Use another loss, such as binary_crossentropy or mean_squared_error."""
                        .formatted(path, loss.name(), outputs));
    }
}

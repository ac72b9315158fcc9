import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.nn.Activation;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.translate.NoopTranslator;

import java.nio.file.Path;
import java.util.Arrays;

/// Predicts with a network that a Spark model has saved, with plain DJL.
class PredictSaved {
    public static void main(String[] arguments) throws Exception {
        for (String name : new String[] {"org.horovod4j.Hvd", "org.apache.spark.ml.Model"}) {
            try {
                throw new IllegalStateException("found " + Class.forName(name));
            } catch (ClassNotFoundException expected) {
                System.out.println("without " + name);
            }
        }
        try (Model model = Model.newInstance("network", "PyTorch")) {
            model.setBlock(
                    new SequentialBlock()
                            .add(Linear.builder().setUnits(8).build())
                            .add(Activation::tanh)
                            .add(Linear.builder().setUnits(3).build()));
            model.load(Path.of(arguments[0]), "network");
            try (var predictor = model.newPredictor(new NoopTranslator(null));
                    NDArray input =
                            model.getNDManager().create(new float[][] {{0.5f, -1, 2, 0.25f}})) {
                float[] scores = predictor.predict(new NDList(input)).head().toFloatArray();
                System.out.println(Arrays.toString(scores));
            }
        }
    }
}

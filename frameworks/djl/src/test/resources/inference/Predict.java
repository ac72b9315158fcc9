import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.nn.Activation;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.nn.norm.BatchNorm;
import ai.djl.translate.NoopTranslator;

import java.nio.file.Path;
import java.util.Arrays;

/// Loads a model that was trained on several ranks, with plain DJL, and prints what it makes of an
/// input.
class Predict {
    public static void main(String[] args) throws Exception {
        try {
            throw new IllegalStateException("found " + Class.forName("org.horovod4j.Hvd"));
        } catch (ClassNotFoundException expected) {
            System.out.println("without Horovod4J");
        }
        for (String folder : args) {
            System.out.println(Arrays.toString(scores(Path.of(folder))));
        }
    }

    private static float[] scores(Path folder) throws Exception {
        try (Model model = Model.newInstance("small", "PyTorch")) {
            model.setBlock(
                    new SequentialBlock()
                            .add(Linear.builder().setUnits(5).build())
                            .add(BatchNorm.builder().build())
                            .add(Activation::relu)
                            .add(Linear.builder().setUnits(3).build()));
            model.load(folder, "small");
            try (var predictor = model.newPredictor(new NoopTranslator(null));
                    NDArray input = model.getNDManager().create(new float[][] {{1, 2, 3, 4, 5, 6}})) {
                return predictor.predict(new NDList(input)).head().toFloatArray();
            }
        }
    }
}

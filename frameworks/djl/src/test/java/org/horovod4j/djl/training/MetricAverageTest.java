package org.horovod4j.djl.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.Trainer;
import ai.djl.training.evaluator.Accuracy;
import ai.djl.training.evaluator.Evaluator;
import ai.djl.training.evaluator.IndexEvaluator;
import ai.djl.training.listener.EvaluatorTrainingListener;
import ai.djl.training.listener.TrainingListener;
import ai.djl.training.loss.Loss;
import ai.djl.training.loss.SimpleCompositeLoss;

import org.horovod4j.ConfigurationException;
import org.horovod4j.djl.SmallNetwork;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

import java.util.Map;

class MetricAverageTest {

    @Test
    void metricsCoverAllSamplesOfAllRanks() {
        World.run(
                3,
                comm -> {
                    Loss loss =
                            new SimpleCompositeLoss("both")
                                    .addLoss(Loss.l2Loss("l2"))
                                    .addLoss(Loss.l1Loss("l1"));
                    DefaultTrainingConfig config =
                            new DefaultTrainingConfig(loss)
                                    .addEvaluator(new Accuracy())
                                    .addEvaluator(new IndexEvaluator(new Accuracy("inner"), 0))
                                    .addTrainingListeners(new MetricAverage(comm))
                                    .addTrainingListeners(TrainingListener.Defaults.basic());
                    try (Model model = SmallNetwork.model();
                            Trainer trainer = model.newTrainer(config)) {
                        // Rank r has r + 1 samples, of which the first is correct; rank 1 does not
                        // validate.
                        addSamples(trainer, EvaluatorTrainingListener.TRAIN_EPOCH, comm.rank() + 1);
                        if (comm.rank() != 1) {
                            addSamples(trainer, EvaluatorTrainingListener.VALIDATE_EPOCH, 2);
                        }
                        trainer.notifyListeners(listener -> listener.onEpoch(trainer));

                        Map<String, Float> figures = trainer.getTrainingResult().getEvaluations();
                        assertThat(figures.get("train_Accuracy")).isEqualTo(3f / 6);
                        assertThat(figures.get("train_inner")).isEqualTo(3f / 6);
                        assertThat(figures.get("validate_Accuracy")).isEqualTo(2f / 4);
                        assertThat(comm.allgatherObject("figures", figures)).containsOnly(figures);
                        // Losses count batches, here of 1, 2 and 3 samples with errors 1, 2 and 3.
                        float expected = 0;
                        for (int n = 1; n <= 3; n++) {
                            float l1 = (n + 1) / 4f;
                            float l2 = (n + 1) * (2 * n + 1) / 24f;
                            expected += (l1 + l2) / 3;
                        }
                        assertThat(figures.get("train_loss")).isCloseTo(expected, within(1e-6f));
                    }
                });
    }

    private static void addSamples(Trainer trainer, String accumulator, int samples) {
        try (NDManager manager = trainer.getManager().newSubManager()) {
            NDArray labels = manager.zeros(new Shape(samples, 2));
            float[] classes = new float[samples];
            float[][] scores = new float[samples][2];
            for (int i = 0; i < samples; i++) {
                // The first sample has its largest score at class 0, which is correct.
                scores[i] = i == 0 ? new float[] {1, 0} : new float[] {0, i + 1};
            }
            NDList right = new NDList(manager.create(classes));
            NDList predictions = new NDList(manager.create(scores));
            for (Evaluator evaluator : trainer.getEvaluators()) {
                boolean isLoss = evaluator.equals(trainer.getLoss());
                evaluator.updateAccumulator(
                        accumulator, isLoss ? new NDList(labels) : right, predictions);
            }
        }
    }

    @Test
    void mustPrecedeEvaluatorListener() {
        World.run(
                1,
                comm -> {
                    DefaultTrainingConfig config =
                            new DefaultTrainingConfig(Loss.l2Loss())
                                    .addTrainingListeners(TrainingListener.Defaults.basic())
                                    .addTrainingListeners(new MetricAverage(comm));
                    try (Model model = SmallNetwork.model()) {
                        assertThatThrownBy(() -> model.newTrainer(config))
                                .isInstanceOf(ConfigurationException.class)
                                .hasMessageContaining("MetricAverage must come before")
                                .hasMessageContaining("EvaluatorTrainingListener, Divergence")
                                .hasMessageContaining("Add it before TrainingListener.Defaults");
                    }
                });
    }

    @Test
    void unsupportedEvaluatorIsRejected() {
        World.run(
                1,
                comm -> {
                    DefaultTrainingConfig config =
                            new DefaultTrainingConfig(Loss.l2Loss())
                                    .addEvaluator(new UnsupportedEvaluator())
                                    .addTrainingListeners(new MetricAverage(comm))
                                    .addTrainingListeners(TrainingListener.Defaults.basic());
                    try (Model model = SmallNetwork.model()) {
                        assertThatThrownBy(() -> model.newTrainer(config))
                                .isInstanceOf(ConfigurationException.class)
                                .hasMessageContaining("evaluator 'forgetful'");
                    }
                });
    }

    private static final class UnsupportedEvaluator extends Evaluator {
        UnsupportedEvaluator() {
            super("forgetful");
        }

        @Override
        public NDArray evaluate(NDList labels, NDList predictions) {
            return labels.head();
        }

        @Override
        public void addAccumulator(String key) {}

        @Override
        public void updateAccumulator(String key, NDList labels, NDList predictions) {}

        @Override
        public void resetAccumulator(String key) {}

        @Override
        public float getAccumulator(String key) {
            return 1;
        }
    }
}

package org.horovod4j.benchmarks.spark.training;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.dataset.Batch;
import ai.djl.training.evaluator.Accuracy;
import ai.djl.training.loss.Loss;
import ai.djl.translate.TranslateException;

import org.horovod4j.Hvd;
import org.horovod4j.djl.HvdDjl;

import java.io.IOException;

/// Trains by `horovodrun`, as a DJL program does: rows, epochs.
public final class PlainBenchmark {
    private static final String EPOCH = "epoch";

    private PlainBenchmark() {}

    public static void main(String[] arguments) throws IOException, TranslateException {
        int rows = Integer.parseInt(arguments[0]);
        int epochs = Integer.parseInt(arguments[1]);
        Hvd.init();
        Device device = HvdDjl.device();
        try (Model model = Model.newInstance("digits", device)) {
            model.setBlock(DigitTraining.network());
            Accuracy accuracy = new Accuracy();
            accuracy.addAccumulator(EPOCH);
            DefaultTrainingConfig config =
                    new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                            .optOptimizer(HvdDjl.distributed(DigitTraining.optimizer(), model))
                            .optDevices(new Device[] {device});
            ArrayDataset images = images(model.getNDManager(), rows);
            try (Trainer trainer = model.newTrainer(config)) {
                trainer.initialize(new Shape(DigitTraining.BATCH, 1, 28, 28));
                HvdDjl.broadcastParameters(model, 0);
                long last = System.nanoTime();
                for (int epoch = 1; epoch <= epochs; epoch++) {
                    train(trainer, images, accuracy);
                    long now = System.nanoTime();
                    if (epoch > 1 && Hvd.rank() == 0) {
                        DigitTraining.print(rows, now - last);
                    }
                    last = now;
                }
            }
        } finally {
            Hvd.shutdown();
        }
    }

    private static void train(Trainer trainer, ArrayDataset images, Accuracy accuracy)
            throws IOException, TranslateException {
        double losses = 0;
        for (Batch batch : trainer.iterateDataset(images)) {
            try (batch) {
                NDList outputs;
                NDArray loss;
                try (GradientCollector collector = trainer.newGradientCollector()) {
                    outputs = trainer.forward(batch.getData());
                    loss = trainer.getLoss().evaluate(batch.getLabels(), outputs);
                    collector.backward(loss);
                }
                losses += loss.getFloat();
                accuracy.updateAccumulator(EPOCH, batch.getLabels(), outputs);
                outputs.close();
                loss.close();
            }
            trainer.step();
        }
        if (Double.isNaN(losses)) {
            throw new IllegalStateException("the loss is not a number");
        }
    }

    private static ArrayDataset images(NDManager manager, int rows) {
        float[] pixels = new float[rows * DigitTraining.PIXELS];
        float[] labels = new float[rows];
        for (int i = 0; i < rows; i++) {
            System.arraycopy(
                    DigitTraining.image(i),
                    0,
                    pixels,
                    i * DigitTraining.PIXELS,
                    DigitTraining.PIXELS);
            labels[i] = DigitTraining.label(i);
        }
        return new ArrayDataset.Builder()
                .setData(manager.create(pixels, new Shape(rows, 1, 28, 28)))
                .optLabels(manager.create(labels))
                .setSampling(HvdDjl.sampler(DigitTraining.BATCH))
                .build();
    }
}

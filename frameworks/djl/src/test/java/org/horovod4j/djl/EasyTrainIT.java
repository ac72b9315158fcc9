package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.nn.Parameter;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.EasyTrain;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;

import org.assertj.core.data.Offset;
import org.horovod4j.Communicator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

import java.util.List;

/// The six steps of a program with `EasyTrain.fit`. The optimizer is wrapped before there are
/// parameters.
class EasyTrainIT {
    private static final int BATCH = 8;
    private static final int BATCHES = 5;
    private static final int EPOCHS = 3;

    @Test
    void fitLearnsTheSameOnTwoRanks() throws Exception {
        List<float[]> weights = TestTraining.ranks(2).run(EasyTrainIT::fitDistributed);
        assertThat(weights.get(1)).containsExactly(weights.get(0));
        assertThat(weights.get(0)).containsExactly(fit(null, 0, 1), Offset.offset(1e-4f));
    }

    private static float[] fitDistributed(Communicator comm) throws Exception {
        return fit(comm, comm.rank(), comm.size());
    }

    private static float[] fit(@Nullable Communicator comm, int rank, int size) throws Exception {
        try (Model model = Model.newInstance("fit", Device.cpu(), "PyTorch")) {
            model.setBlock(TestTraining.network());
            Optimizer optimizer = TestTraining.sgd();
            if (comm != null) {
                optimizer =
                        DistributedOptimizer.wrap(optimizer, model.getBlock())
                                .communicator(comm)
                                .overlap(true)
                                .build();
            }
            DefaultTrainingConfig config =
                    new DefaultTrainingConfig(Loss.l2Loss())
                            .optInitializer(
                                    new TestTraining.SineInitializer(), (Parameter _) -> true)
                            .optOptimizer(optimizer)
                            .optDevices(new Device[] {Device.cpu()});
            try (Trainer trainer = model.newTrainer(config)) {
                trainer.initialize(TestTraining.INPUT);
                EasyTrain.fit(trainer, EPOCHS, share(model.getNDManager(), rank, size), null);
            }
            return TestTraining.weights(model.getBlock());
        }
    }

    /// This rank's part of each batch.
    private static ArrayDataset share(NDManager manager, int rank, int size) {
        int share = BATCH / size;
        NDList inputs = new NDList();
        NDList labels = new NDList();
        for (int batch = 0; batch < BATCHES; batch++) {
            int from = batch * BATCH + rank * share;
            inputs.add(TestTraining.samples(manager, from, from + share, TestTraining.INPUTS, 0));
            labels.add(TestTraining.samples(manager, from, from + share, TestTraining.OUTPUTS, 1));
        }
        NDArray data = NDArrays.concat(inputs);
        return new ArrayDataset.Builder()
                .setData(data)
                .optLabels(NDArrays.concat(labels))
                .setSampling(share, false)
                .build();
    }
}

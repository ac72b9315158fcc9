package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Device;
import ai.djl.ndarray.NDManager;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.dataset.Batch;

import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

class ShardedDatasetTest {
    private static final int RANKS = 2;

    /// 9 samples are 5 batches: the last one has no counterpart on the other rank.
    @Test
    void ranksTakeTurns() {
        World.run(
                RANKS,
                comm -> {
                    try (NDManager manager = NDManager.newBaseManager(Device.cpu(), "PyTorch");
                            ExecutorService executor = Executors.newSingleThreadExecutor()) {
                        ArrayDataset all =
                                new ArrayDataset.Builder()
                                        .setData(manager.arange(9f).reshape(9, 1))
                                        .optLabels(manager.arange(9f).reshape(9, 1))
                                        .setSampling(2, false)
                                        .addTransform(sample -> sample.add(10))
                                        .optPrefetchNumber(2)
                                        .build();
                        ShardedDataset part = new ShardedDataset(all, comm);
                        part.prepare(null);
                        List<float[]> expected =
                                comm.rank() == 0
                                        ? List.of(new float[] {10, 11}, new float[] {14, 15})
                                        : List.of(new float[] {12, 13}, new float[] {16, 17});
                        assertThat(read(part.getData(manager)))
                                .usingRecursiveComparison()
                                .isEqualTo(expected);
                        assertThat(read(part.getData(manager, executor)))
                                .usingRecursiveComparison()
                                .isEqualTo(expected);
                    }
                });
    }

    private static List<float[]> read(Iterable<Batch> batches) {
        List<float[]> read = new ArrayList<>();
        for (Batch batch : batches) {
            try (batch) {
                read.add(batch.getData().head().toFloatArray());
            }
        }
        return read;
    }
}

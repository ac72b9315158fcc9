package org.horovod4j.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.horovod4j.Communicator;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

class MnistByHandTest {
    private static final long SEED = 7;
    private static final int IMAGES = 32;
    private static final float LEARNING_RATE = 0.1f;

    /// Sums in another order differ in their last bits.
    private static final float ROUNDING = 1e-5f;

    @Test
    void twoRanksOnHalfBatchesEqualOneFullBatch() {
        MnistData mnistData = randomDigits();
        World.run(
                1,
                alone -> {
                    MnistByHand whole = new MnistByHand(alone, SEED);
                    trainTwoSteps(whole, mnistData, alone);
                    World.run(
                            2,
                            comm -> {
                                MnistByHand half = new MnistByHand(comm, SEED);
                                trainTwoSteps(half, mnistData, comm);
                                assertClose(half.parameters(), whole.parameters());
                            });
                });
    }

    @Test
    void broadcastGivesAllRanksParametersOfRankZero() {
        World.run(
                3,
                comm -> {
                    MnistByHand mnist = new MnistByHand(comm, SEED + comm.rank());
                    mnist.broadcastParameters();
                    assertClose(mnist.parameters(), new MnistByHand(comm, SEED).parameters());
                });
    }

    /// The second step uses momentum. Each rank has every `size`-th image.
    private static void trainTwoSteps(MnistByHand mnist, MnistData mnistData, Communicator comm) {
        int[] images =
                IntStream.range(0, IMAGES).filter(i -> i % comm.size() == comm.rank()).toArray();
        for (int step = 0; step < 2; step++) {
            mnist.step(new MnistByHand.Batch(mnistData, images), LEARNING_RATE);
        }
    }

    private static MnistData randomDigits() {
        Random random = new Random(SEED);
        byte[] pixels = new byte[IMAGES * MnistData.PIXELS];
        byte[] labels = new byte[IMAGES];
        random.nextBytes(pixels);
        for (int i = 0; i < IMAGES; i++) {
            labels[i] = (byte) random.nextInt(10);
        }
        return new MnistData(pixels, labels);
    }

    private static void assertClose(List<float[]> actual, List<float[]> expected) {
        for (int layer = 0; layer < expected.size(); layer++) {
            assertThat(actual.get(layer)).hasSameSizeAs(expected.get(layer));
            for (int i = 0; i < expected.get(layer).length; i++) {
                assertThat(actual.get(layer)[i])
                        .as("layer %d, parameter %d", layer, i)
                        .isCloseTo(expected.get(layer)[i], within(ROUNDING));
            }
        }
    }
}

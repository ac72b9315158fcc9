package org.horovod4j.pytorch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.data.Offset;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.EmbeddingOptions;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.horovod4j.Communicator;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.Map;

/// Gradients of embeddings. Each rank uses some rows of the table.
class SparseGradientsTest {
    private static final int ROWS = 40;
    private static final int COLUMNS = 3;

    @BeforeAll
    static void load() {
        HvdTorch.load();
    }

    private static EmbeddingImpl embedding(boolean isSparse) {
        EmbeddingOptions options = new EmbeddingOptions(ROWS, COLUMNS);
        options.sparse().put(isSparse);
        EmbeddingImpl embedding = new EmbeddingImpl(options);
        TensorMemory.write(embedding.weight(), TestNetwork.sines(3, ROWS, COLUMNS));
        return embedding;
    }

    private static float[] train(Communicator comm, boolean isSparse, boolean sparseAsDense) {
        EmbeddingImpl embedding = embedding(isSparse);
        DistributedOptimizer optimizer =
                DistributedOptimizer.wrap(
                                new SGD(embedding.parameters(), new SGDOptions(0.5)), embedding)
                        .communicator(comm)
                        .sparseAsDense(sparseAsDense)
                        .overlap(true)
                        .build();
        for (int step = 0; step < 3; step++) {
            optimizer.zeroGrad();
            long[] words = {comm.rank() * 5L, comm.rank() * 5L, step, 7};
            Tensor rows =
                    embedding.forward(
                            TensorMemory.newTensor(org.horovod4j.Tensor.of(words, words.length)));
            torch.mul(rows, rows).sum().backward();
            optimizer.step();
            assertThat(embedding.weight().grad().is_sparse()).isEqualTo(isSparse && !sparseAsDense);
        }
        return TensorMemory.view(embedding.weight()).toFloatArray();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void sparseGradientsTrainLikeDenseOnes(boolean sparseAsDense) {
        World.run(
                2,
                comm ->
                        assertThat(train(comm, true, sparseAsDense))
                                .containsExactly(train(comm, false, false), Offset.offset(1e-6f)));
    }

    /// One rank uses no row of the embedding in this step.
    @Test
    void rankWithoutRowsTakesPart() {
        World.run(
                2,
                comm -> {
                    EmbeddingImpl embedding = embedding(true);
                    DistributedOptimizer optimizer =
                            DistributedOptimizer.wrap(
                                            new SGD(embedding.parameters(), new SGDOptions(1)),
                                            embedding)
                                    .communicator(comm)
                                    .build();
                    if (comm.rank() == 0) {
                        long[] words = {2};
                        embedding
                                .forward(TensorMemory.newTensor(org.horovod4j.Tensor.of(words, 1)))
                                .sum()
                                .backward();
                    }
                    optimizer.step();
                    float[] expected = TestNetwork.sines(3, ROWS, COLUMNS).toFloatArray();
                    for (int i = 0; i < COLUMNS; i++) {
                        expected[2 * COLUMNS + i] -= 0.5f;
                    }
                    assertThat(TensorMemory.view(embedding.weight()).toFloatArray())
                            .containsExactly(expected, Offset.offset(1e-6f));
                });
    }

    @Test
    void singleElementsAreRefused() {
        World.run(
                2,
                comm -> {
                    Tensor weight = torch.ones(2, 3).set_requires_grad(true);
                    DistributedOptimizer optimizer =
                            DistributedOptimizer.wrap(
                                            new SGD(new TensorVector(weight), new SGDOptions(1)),
                                            Map.of("weight", weight))
                                    .communicator(comm)
                                    .build();
                    weight.mutable_grad().put(torch.ones(2, 3).to_sparse());
                    assertThatThrownBy(optimizer::step)
                            .hasMessageContaining(
                                    "the sparse gradient of 'weight' has single elements with 2"
                                            + " indices each");
                });
    }
}

package org.horovod4j.tensorflow.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.data.Offset;
import org.horovod4j.Communicator;
import org.horovod4j.checkpoint.CheckpointException;
import org.horovod4j.data.Sampling;
import org.horovod4j.data.Shard;
import org.horovod4j.tensorflow.Adam;
import org.horovod4j.tensorflow.DistributedOptimizer;
import org.horovod4j.tensorflow.training.Estimator.Evaluation;
import org.horovod4j.tensorflow.training.Estimator.InputFunction;
import org.horovod4j.tensorflow.training.Estimator.Mode;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Result;
import org.tensorflow.SavedModelBundle;
import org.tensorflow.Tensor;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.ndarray.StdArrays;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Placeholder;
import org.tensorflow.op.core.Variable;
import org.tensorflow.types.TFloat32;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.stream.StreamSupport;

/// An estimator of `y = 2x + 1` on ranks that are threads of this JVM.
class EstimatorTest {
    private static final int SAMPLES = 48;

    @TempDir Path folder;

    static ModelSpec build(Graph graph, Mode mode, Communicator comm) {
        Ops tf = Ops.create(graph);
        Placeholder<TFloat32> x = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1)));
        Placeholder<TFloat32> y = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1)));
        Variable<TFloat32> slope = variable(tf, "slope", comm.rank());
        Variable<TFloat32> offset = variable(tf, "offset", 0);
        Operand<TFloat32> line = tf.math.add(tf.math.mul(x, slope), offset);
        Operand<TFloat32> loss = tf.math.mean(tf.math.squaredDifference(line, y), tf.constant(0));
        ModelSpec spec =
                new ModelSpec()
                        .input("x", x)
                        .input("y", y)
                        .prediction("line", line)
                        .metric("mean", tf.math.mean(y, tf.constant(0)))
                        .loss(loss);
        return mode == Mode.TRAIN
                ? spec.trainOp(
                        DistributedOptimizer.wrap(new Adam(graph, 0.1f))
                                .communicator(comm)
                                .build()
                                .minimize(loss))
                : spec;
    }

    private static Variable<TFloat32> variable(Ops tf, String name, float start) {
        Ops init = tf.withInitScope();
        Variable<TFloat32> variable = init.withName(name).variable(Shape.scalar(), TFloat32.class);
        init.assign(variable, init.constant(start));
        return variable;
    }

    static TensorBatch batch(int[] samples) {
        float[] x = new float[samples.length];
        float[] y = new float[samples.length];
        for (int i = 0; i < samples.length; i++) {
            x[i] = samples[i] / (float) SAMPLES;
            y[i] = 2 * x[i] + 1;
        }
        return new TensorBatch(
                samples.length,
                Map.of(
                        "x", TFloat32.tensorOf(StdArrays.ndCopyOf(x)),
                        "y", TFloat32.tensorOf(StdArrays.ndCopyOf(y))));
    }

    static InputFunction training(Communicator comm, int epochs) {
        Shard shard = Sampling.shuffled(5).shard(SAMPLES, 8, comm);
        return step -> batches(shard.batches(step / shard.stepsPerEpoch(), epochs));
    }

    private static Iterator<TensorBatch> batches(Iterable<int[]> indices) {
        return StreamSupport.stream(indices.spliterator(), false)
                .map(EstimatorTest::batch)
                .iterator();
    }

    static Estimator.Builder estimator(Communicator comm, Path folder) {
        return Estimator.of((graph, mode) -> build(graph, mode, comm), folder)
                .communicator(comm)
                .logEvery(0);
    }

    @Test
    void estimatorTrainsEvaluatesAndPredicts() {
        World.run(
                2,
                comm -> {
                    Estimator estimator =
                            estimator(comm, folder.resolve("rank-" + comm.rank())).build();
                    Evaluation first = trainAndEvaluate(estimator, comm, 6);
                    assertThat(first.step()).isEqualTo(6);
                    Evaluation later = trainAndEvaluate(estimator, comm, 300);
                    assertThat(later.step()).isEqualTo(300);
                    assertThat(later.metrics().get("loss"))
                            .isLessThan(first.metrics().get("loss"))
                            .isLessThan(1e-3);

                    List<Float> predictions = new ArrayList<>();
                    estimator.predict(
                            _ -> List.of(batch(new int[] {SAMPLES * comm.rank()})).iterator(),
                            values ->
                                    predictions.add(
                                            ((TFloat32) tensor(values, "line")).getFloat(0)));
                    assertThat(predictions).hasSize(1);
                    assertThat(predictions.getFirst())
                            .isCloseTo(1 + 2 * comm.rank(), Offset.offset(0.1f));
                });
        assertThat(folder.resolve("rank-0")).isDirectoryContaining("glob:**/step-0300.checkpoint");
        assertThat(folder.resolve("rank-1")).doesNotExist();
    }

    private static Tensor tensor(Map<String, Tensor> values, String name) {
        assertThat(values).containsOnlyKeys(name);
        return values.values().iterator().next();
    }

    private static Evaluation trainAndEvaluate(
            Estimator estimator, Communicator comm, int lastStep) {
        assertThat(estimator.train(training(comm, 1000), lastStep)).isEqualTo(lastStep);
        return estimator.evaluate(_ -> List.of(batch(new int[] {1, 2, 3})).iterator());
    }

    @Test
    void samplesOfAllRanksCountAlike() {
        World.run(
                2,
                comm -> {
                    Estimator estimator = estimator(comm, folder).build();
                    int _ = estimator.train(training(comm, 1), 1);
                    // rank 0: the labels 1, 1, 1; rank 1: 3
                    int[] own = comm.rank() == 0 ? new int[] {0, 0, 0} : new int[] {SAMPLES};
                    Evaluation evaluation = estimator.evaluate(_ -> List.of(batch(own)).iterator());
                    assertThat(evaluation.metrics().get("mean"))
                            .isCloseTo(1.5, Offset.offset(1e-6));
                    // rank 0 has no data now
                    Evaluation one =
                            estimator.evaluate(
                                    _ ->
                                            (comm.rank() == 0
                                                            ? List.<TensorBatch>of()
                                                            : List.of(batch(own)))
                                                    .iterator());
                    assertThat(one.metrics().get("mean")).isCloseTo(3, Offset.offset(1e-6));
                });
    }

    @Test
    void trainingEndsWithItsInput() {
        World.run(
                2,
                comm -> {
                    Estimator estimator = estimator(comm, folder).build();
                    assertThat(estimator.train(training(comm, 2), 1000)).isEqualTo(6);
                    assertThat(estimator.train(training(comm, 2), 6)).isEqualTo(6);
                });
        assertThat(folder).isDirectoryContaining("glob:**/step-0006.checkpoint");
    }

    @Test
    void evaluationNeedsACheckpoint() {
        World.run(
                2,
                comm ->
                        assertThatThrownBy(
                                        () ->
                                                estimator(comm, folder)
                                                        .build()
                                                        .evaluate(training(comm, 1)))
                                .isInstanceOf(CheckpointException.class)
                                .hasMessageContaining("there is no checkpoint in " + folder));
    }

    @Test
    void unknownInputIsRejected() {
        World.run(
                1,
                comm ->
                        assertThatThrownBy(
                                        () ->
                                                estimator(comm, folder)
                                                        .build()
                                                        .train(_ -> misnamed(), 1))
                                .isInstanceOf(IllegalArgumentException.class)
                                .hasMessage(
                                        "the batch has a tensor 'z', but the inputs of the model are [x, y]"));
    }

    private static Iterator<TensorBatch> misnamed() {
        return List.of(new TensorBatch(1, Map.of("z", TFloat32.scalarOf(1)))).iterator();
    }

    @Test
    void exportedModelHasNoCollectives() {
        Path model = folder.resolve("model");
        World.run(
                2,
                comm -> {
                    Estimator estimator = estimator(comm, folder.resolve("checkpoints")).build();
                    int _ = estimator.train(training(comm, 1000), 300);
                    estimator.exportSavedModel(model);
                    assertThatThrownBy(() -> estimator.exportSavedModel(model))
                            .isInstanceOf(CheckpointException.class)
                            .hasMessageContaining(model + " exists");
                });
        try (SavedModelBundle bundle = SavedModelBundle.load(model.toString());
                TFloat32 x = TFloat32.vectorOf(0, 1);
                Result result = bundle.call(Map.of("x", x))) {
            TFloat32 line = (TFloat32) result.get("line").orElseThrow();
            assertThat(line.getFloat(0)).isCloseTo(1, Offset.offset(0.1f));
            assertThat(line.getFloat(1)).isCloseTo(3, Offset.offset(0.1f));
            bundle.graph()
                    .operations()
                    .forEachRemaining(node -> assertThat(node.type()).doesNotContain("Horovod"));
        }
    }

    @Test
    void modelWithCollectivesIsNotExported() {
        World.run(
                1,
                comm -> {
                    int _ = estimator(comm, folder).build().train(training(comm, 1), 1);
                    Estimator estimator =
                            Estimator.of((graph, _) -> build(graph, Mode.TRAIN, comm), folder)
                                    .communicator(comm)
                                    .build();
                    Path model = folder.resolve("model");
                    assertThatThrownBy(() -> estimator.exportSavedModel(model))
                            .isInstanceOf(CheckpointException.class)
                            .hasMessageContaining("the model uses the collective 'gradient/");
                    assertThat(model).doesNotExist();
                });
    }
}

package org.horovod4j.spark.djl;

import ai.djl.nn.Block;
import ai.djl.training.evaluator.Evaluator;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;

import org.apache.spark.ml.param.IntArrayParam;
import org.apache.spark.ml.param.Param;
import org.apache.spark.ml.param.ParamMap;
import org.apache.spark.ml.util.DefaultParamsReader;
import org.apache.spark.ml.util.Identifiable$;
import org.apache.spark.ml.util.MLReader;
import org.horovod4j.ConfigurationException;
import org.horovod4j.spark.ml.HvdEstimator;
import org.horovod4j.spark.ml.NetworkFramework;
import org.horovod4j.spark.ml.SerializedParam;
import org.horovod4j.spark.ml.TrainingSetup;

import java.io.Serializable;
import java.util.List;

/// Trains a network of DJL on the rows of a `Dataset`, on ranks in executors of Spark.
///
/// ```java
/// DjlModel model =
///         new DjlEstimator()
///                 .setBlock(() -> network())
///                 .setLoss(Loss::softmaxCrossEntropyLoss)
///                 .setOptimizer(setup -> Optimizer.adam().build())
///                 .setEvaluators(() -> List.of(new Accuracy()))
///                 .setNumProc(4)
///                 .setBatchSize(64)
///                 .setEpochs(10)
///                 .fit(rows);
/// Dataset<Row> predictions = model.transform(others);
/// ```
///
/// Objects of DJL exist on the ranks only, so parameters are functions that create them. Spark
/// serializes the functions, and a saved estimator or model contains them.
public final class DjlEstimator extends HvdEstimator<DjlEstimator, DjlModel> {
    private static final long serialVersionUID = 1L;

    private final NetworkParams network = new NetworkParams(this);
    private final SerializedParam<Creator<? extends Loss>> loss =
            new SerializedParam<>(this, "loss", "creates the loss");
    private final SerializedParam<OptimizerCreator> optimizer =
            new SerializedParam<>(this, "optimizer", "creates the optimizer");
    private final SerializedParam<Creator<? extends List<? extends Evaluator>>> evaluators =
            new SerializedParam<>(this, "evaluators", "creates the metrics of the history");

    /// Creates an object of DJL on a rank. Spark serializes it.
    ///
    /// @param <T> the type of the object
    @FunctionalInterface
    public interface Creator<T> extends Serializable {
        T create();
    }

    /// Creates the optimizer on a rank. Spark serializes it.
    @FunctionalInterface
    public interface OptimizerCreator extends Serializable {
        /// Creates the optimizer of one rank.
        ///
        /// @param setup has the number of ranks and steps, for the learning rate
        Optimizer create(TrainingSetup setup);
    }

    public DjlEstimator() {
        this(Identifiable$.MODULE$.randomUID("DjlEstimator"));
    }

    /// @param uid the unique name of this estimator
    public DjlEstimator(String uid) {
        super(uid);
        Creator<List<Evaluator>> none = List::of;
        setDefault(evaluators, none);
    }

    /// Reads estimators that were saved.
    public static MLReader<DjlEstimator> read() {
        return new DefaultParamsReader<>();
    }

    /// Loads an estimator that was saved. Load only what you trust: it has serialized objects.
    public static DjlEstimator load(String path) {
        return read().load(path);
    }

    public SerializedParam<Creator<? extends Block>> block() {
        return network.block;
    }

    public IntArrayParam inputShape() {
        return network.inputShape;
    }

    public Param<String> engine() {
        return network.engine;
    }

    public SerializedParam<Creator<? extends Loss>> loss() {
        return loss;
    }

    public SerializedParam<OptimizerCreator> optimizer() {
        return optimizer;
    }

    public SerializedParam<Creator<? extends List<? extends Evaluator>>> evaluators() {
        return evaluators;
    }

    /// The network.
    public DjlEstimator setBlock(Creator<? extends Block> creator) {
        return with(network.block, creator);
    }

    /// The shape of the input of one row, such as 1, 28, 28. By default the features are one
    /// dimension.
    public DjlEstimator setInputShape(int... shape) {
        return with(network.inputShape, shape);
    }

    /// The engine of DJL, such as `PyTorch`. By default DJL chooses one of the class path.
    public DjlEstimator setEngine(String name) {
        return with(network.engine, name);
    }

    /// The loss, a mean over the rows. Labels are one dimension if there is one label column
    /// with single numbers, as class numbers are, otherwise two.
    public DjlEstimator setLoss(Creator<? extends Loss> creator) {
        return with(loss, creator);
    }

    /// The optimizer. Its gradients are means over the rows of all ranks.
    public DjlEstimator setOptimizer(OptimizerCreator creator) {
        return with(optimizer, creator);
    }

    /// Metrics for the history; none by default. The loss is always in it.
    public DjlEstimator setEvaluators(Creator<? extends List<? extends Evaluator>> creator) {
        return with(evaluators, creator);
    }

    @Override
    protected NetworkFramework framework() {
        if (!isDefined(network.block) || !isDefined(loss) || !isDefined(optimizer)) {
            throw new ConfigurationException(
                    "a DjlEstimator needs a network, a loss and an optimizer: call setBlock, setLoss and setOptimizer");
        }
        return network.framework(
                this,
                new DjlNetwork.Training(
                        getOrDefault(loss), getOrDefault(optimizer), getOrDefault(evaluators)));
    }

    @Override
    protected DjlModel newModel(String modelUid) {
        return new DjlModel(modelUid);
    }

    @Override
    public DjlEstimator copy(ParamMap extra) {
        return defaultCopy(extra);
    }
}

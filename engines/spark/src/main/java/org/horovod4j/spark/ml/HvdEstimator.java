package org.horovod4j.spark.ml;

import org.apache.spark.ml.Estimator;
import org.apache.spark.ml.param.BooleanParam;
import org.apache.spark.ml.param.DoubleParam;
import org.apache.spark.ml.param.IntParam;
import org.apache.spark.ml.param.LongParam;
import org.apache.spark.ml.param.Param;
import org.apache.spark.ml.param.ParamMap;
import org.apache.spark.ml.param.ParamValidators;
import org.apache.spark.ml.param.StringArrayParam;
import org.apache.spark.ml.util.DefaultParamsWritable;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;
import org.horovod4j.ConfigurationException;
import org.horovod4j.DataType;
import org.horovod4j.log.Log;
import org.horovod4j.spark.HvdSpark;
import org.horovod4j.spark.data.ColumnRequest;
import org.horovod4j.spark.data.Store;
import org.horovod4j.spark.data.StoredData;
import org.horovod4j.spark.data.WriteOptions;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/// An estimator of Spark ML that trains a network on ranks in executors. The subclass of a framework
/// adds the network, its loss and its optimizer.
///
/// A fit writes the columns that it needs as Parquet files into the [Store], runs `numProc` ranks,
/// each with its part of the rows, and returns the trained model. All rows are used once in each epoch.
/// The gradient of a step is the mean over the rows of all ranks, also if some have fewer.
///
/// @param <E> the subclass
/// @param <M> the model
@SuppressWarnings("this-escape") // params of Spark need their owner; they only ask for its uid
public abstract class HvdEstimator<E extends HvdEstimator<E, M>, M extends HvdModel<M>>
        extends Estimator<M> implements DefaultParamsWritable {
    private static final long serialVersionUID = 1L;
    private static final Logger LOGGER = Log.of(HvdEstimator.class);

    private final String uid;
    private final ColumnParams columns = new ColumnParams(this);
    private final IntParam numProc =
            new IntParam(this, "numProc", "the number of ranks", ParamValidators.gtEq(1));
    private final StringArrayParam labelCols =
            new StringArrayParam(this, "labelCols", "the columns of labels");
    private final Param<String> weightCol =
            new Param<>(this, "weightCol", "the column with the weight of each row");
    private final IntParam epochs =
            new IntParam(this, "epochs", "the number of epochs", ParamValidators.gtEq(1));
    private final DoubleParam validationFraction =
            new DoubleParam(
                    this,
                    "validationFraction",
                    "the part of the rows to validate with, chosen at random",
                    ParamValidators.inRange(0, 1, true, false));
    private final Param<String> validationCol =
            new Param<>(
                    this,
                    "validationCol",
                    "a column that is true, or not 0, in the rows to validate with");
    private final BooleanParam shuffle =
            new BooleanParam(this, "shuffle", "whether each epoch has its own random order");
    private final LongParam seed =
            new LongParam(this, "seed", "of the random orders, the validation rows and parameters");
    private final Param<String> store =
            new Param<>(this, "store", "the folder for data and checkpoints, as a URI");
    private final Param<String> runId =
            new Param<>(
                    this, "runId", "the name of the training, under which checkpoints are kept");
    private final BooleanParam resume =
            new BooleanParam(
                    this, "resume", "whether to continue from the last checkpoint of runId");
    private final IntParam patience =
            new IntParam(
                    this,
                    "patience",
                    "ends training after this number of epochs without a better monitor; 0 never",
                    ParamValidators.gtEq(0));
    private final Param<String> monitor =
            new Param<>(this, "monitor", "the metric of early stopping");
    private final BooleanParam verbose =
            new BooleanParam(this, "verbose", "whether rank 0 prints progress");
    private final SerializedParam<EpochCallback> callback =
            new SerializedParam<>(this, "callback", "called on all ranks after each epoch");
    private final IntParam startTimeout =
            new IntParam(
                    this,
                    "startTimeout",
                    "seconds that Spark may take to start all ranks",
                    ParamValidators.gtEq(1));

    /// @param uid the unique name of this estimator
    protected HvdEstimator(String uid) {
        this.uid = uid; // parameters use it
        super();
        setDefault(numProc, 1);
        setDefault(labelCols, new String[] {"label"});
        setDefault(epochs, 1);
        setDefault(validationFraction, 0.0);
        setDefault(shuffle, true);
        setDefault(seed, 0L);
        setDefault(resume, true);
        setDefault(patience, 0);
        setDefault(verbose, true);
        setDefault(startTimeout, 30);
        columns.setDefaults(this);
    }

    /// The network and its framework, from the parameters of the subclass.
    ///
    /// @throws ConfigurationException when a parameter is missing
    protected abstract NetworkFramework framework();

    /// A model without a network, which this class fills. It has the parameters of the subclass.
    protected abstract M newModel(String modelUid);

    @Override
    public String uid() {
        return uid;
    }

    public final StringArrayParam featuresCols() {
        return columns.features;
    }

    public final Param<String> predictionCol() {
        return columns.prediction;
    }

    public final Param<String> rawPredictionCol() {
        return columns.rawPrediction;
    }

    public final IntParam batchSize() {
        return columns.batchSize;
    }

    public final IntParam numProc() {
        return numProc;
    }

    public final StringArrayParam labelCols() {
        return labelCols;
    }

    public final Param<String> weightCol() {
        return weightCol;
    }

    public final IntParam epochs() {
        return epochs;
    }

    public final DoubleParam validationFraction() {
        return validationFraction;
    }

    public final Param<String> validationCol() {
        return validationCol;
    }

    public final BooleanParam shuffle() {
        return shuffle;
    }

    public final LongParam seed() {
        return seed;
    }

    public final Param<String> store() {
        return store;
    }

    public final Param<String> runId() {
        return runId;
    }

    public final BooleanParam resume() {
        return resume;
    }

    public final IntParam patience() {
        return patience;
    }

    public final Param<String> monitor() {
        return monitor;
    }

    public final BooleanParam verbose() {
        return verbose;
    }

    public final SerializedParam<EpochCallback> callback() {
        return callback;
    }

    public final IntParam startTimeout() {
        return startTimeout;
    }

    /// The columns of features, which become the input of the network side by side: numbers,
    /// arrays or vectors. `features` by default.
    public E setFeaturesCols(String... names) {
        return with(columns.features, names);
    }

    /// The one column of features.
    public E setFeaturesCol(String name) {
        return setFeaturesCols(name);
    }

    /// The columns of labels, side by side; `label` by default.
    public E setLabelCols(String... names) {
        return with(labelCols, names);
    }

    /// The one column of labels.
    public E setLabelCol(String name) {
        return setLabelCols(name);
    }

    /// The column with the weight of each row; without it, all rows count alike.
    public E setWeightCol(String name) {
        return with(weightCol, name);
    }

    /// The name of the column that the model adds: the output of the network, or the index of the
    /// largest if it has several; empty for none. `prediction` by default.
    public E setPredictionCol(String name) {
        return with(columns.prediction, name);
    }

    /// The name of the column that the model adds with all outputs, as a vector; empty for none.
    /// `rawPrediction` by default.
    public E setRawPredictionCol(String name) {
        return with(columns.rawPrediction, name);
    }

    /// The number of ranks; 1 by default.
    public E setNumProc(int ranks) {
        return with(numProc, ranks);
    }

    /// The rows of one step on one rank; 32 by default.
    public E setBatchSize(int rows) {
        return with(columns.batchSize, rows);
    }

    /// The number of epochs; 1 by default.
    public E setEpochs(int count) {
        return with(epochs, count);
    }

    /// Validates with this part of the rows, chosen at random, and does not train with them.
    public E setValidationFraction(double fraction) {
        return with(validationFraction, fraction);
    }

    /// Validates with the rows in which this column is true, or not 0.
    public E setValidationCol(String name) {
        return with(validationCol, name);
    }

    /// Whether each epoch has its own random order; true by default.
    public E setShuffle(boolean yes) {
        return with(shuffle, yes);
    }

    /// Of the random orders, the validation rows and the first parameters; 0 by default.
    public E setSeed(long value) {
        return with(seed, value);
    }

    /// The folder for data and checkpoints, which driver and executors can use. On one machine, a
    /// temporary folder of this user by default.
    ///
    /// @param uri as [Store#at] takes it
    public E setStore(String uri) {
        return with(store, uri);
    }

    /// Keeps a checkpoint after each epoch, in the folder `runs/id` of the store. A fit with the
    /// same id resumes there.
    ///
    /// @param id letters, digits, `.`, `-` and `_`, of which the first is a letter or a digit
    public E setRunId(String id) {
        return with(runId, id);
    }

    /// Whether a fit resumes from the checkpoints of its `runId`, or deletes them; true by default.
    public E setResume(boolean yes) {
        return with(resume, yes);
    }

    /// Ends training after this number of epochs in which `monitor` did not become better. The model
    /// is then that of the best epoch. 0, the default, never ends early.
    public E setPatience(int count) {
        return with(patience, count);
    }

    /// The metric of early stopping; `val_loss` by default, or `loss` without validation rows. Larger
    /// values are better if the name contains `acc`, else smaller ones.
    public E setMonitor(String metric) {
        return with(monitor, metric);
    }

    /// Whether rank 0 prints progress; true by default.
    public E setVerbose(boolean yes) {
        return with(verbose, yes);
    }

    /// Called on all ranks after each epoch.
    public E setCallback(EpochCallback value) {
        return with(callback, value);
    }

    /// How many seconds Spark may take to start all ranks; 30 by default.
    public E setStartTimeout(int seconds) {
        return with(startTimeout, seconds);
    }

    /// Sets a parameter.
    @SuppressWarnings("unchecked") // E is this class
    protected final <T> E with(Param<T> param, T value) {
        return (E) set(param, value);
    }

    @Override
    public StructType transformSchema(StructType schema) {
        checkTrainingColumns(schema);
        return columns.withOutputs(this, schema);
    }

    private void checkTrainingColumns(StructType schema) {
        features().forEach(name -> FeatureColumns.check(schema, name, "features"));
        labels().forEach(name -> FeatureColumns.check(schema, name, "label"));
        String weight = value(weightCol);
        if (weight != null) {
            FeatureColumns.check(schema, weight, "weight");
        }
        String validation = value(validationCol);
        if (validation != null) {
            FeatureColumns.check(schema, validation, "validation");
        }
    }

    private List<String> features() {
        return columns.features(this);
    }

    private List<String> labels() {
        return List.of(getOrDefault(labelCols));
    }

    private <T> @Nullable T value(Param<T> param) {
        return isDefined(param) ? getOrDefault(param) : null;
    }

    /// Trains the network.
    ///
    /// @throws ConfigurationException when a parameter or the data are not as needed, or Spark has too
    ///     few slots
    /// @throws org.horovod4j.launcher.LaunchException when a rank failed. With a `runId`, the next fit
    ///     resumes from the last complete epoch
    @Override
    public M fit(Dataset<?> dataset) {
        StructType _ = transformSchema(dataset.schema());
        checkRunId();
        NetworkFramework network = framework(); // checks its parameters before data are written
        Store files = openStore(dataset.sparkSession());
        WriteOptions options =
                WriteOptions.forRanks(intValue(numProc)).withSeed((Long) getOrDefault(seed));
        double fraction = (Double) getOrDefault(validationFraction);
        String validation = value(validationCol);
        if (validation != null && fraction > 0) {
            throw new ConfigurationException(
                    "both validationFraction and validationCol are set: set one of them");
        }
        if (validation != null) {
            options = options.withValidationColumn(validation);
        } else if (fraction > 0) {
            options = options.withValidation(fraction);
        }
        StoredData data = files.write(dataset, requests(), options);
        try {
            return fit(dataset.sparkSession(), network, files, data);
        } finally {
            remove(files, data);
        }
    }

    /// Deletes files that were for this fit. A failure changes neither its model nor its exception.
    private static void remove(Store files, StoredData data) {
        try {
            files.remove(data);
        } catch (RuntimeException e) {
            LOGGER.log(Level.WARNING, "the files of %s stay behind".formatted(data.folder()), e);
        }
    }

    private void checkRunId() {
        String id = value(runId);
        if (id != null && !id.matches("[A-Za-z0-9][A-Za-z0-9._-]*")) {
            throw new ConfigurationException(
                    "the runId '%s': use letters, digits, '.', '-' and '_', and begin with a letter or a digit"
                            .formatted(id));
        }
    }

    /// Trains with existing Parquet files, which are not copied. They have the columns of this
    /// estimator. The parameters for validation rows do not apply.
    ///
    /// @param training a file or folder, as a URI
    public M fitParquet(SparkSession spark, String training) {
        checkRunId();
        Store files = openStore(spark);
        return fit(spark, framework(), files, files.use(training, requests()));
    }

    /// The same with rows to validate with.
    ///
    /// @param training a file or folder, as a URI
    /// @param validation another one
    public M fitParquet(SparkSession spark, String training, String validation) {
        checkRunId();
        Store files = openStore(spark);
        return fit(spark, framework(), files, files.use(training, validation, requests()));
    }

    private List<ColumnRequest> requests() {
        List<String> names = new ArrayList<>(features());
        names.addAll(labels());
        String weight = value(weightCol);
        if (weight != null) {
            names.add(weight);
        }
        return names.stream()
                .distinct()
                .map(name -> ColumnRequest.of(name, DataType.FLOAT32))
                .toList();
    }

    private Store openStore(SparkSession spark) {
        String uri = value(store);
        if (uri != null) {
            return Store.at(uri);
        }
        String master = spark.sparkContext().master();
        if (!master.startsWith("local")) {
            throw new ConfigurationException(
                    """
                    the estimator has no store, and the executors of %s may be on other machines
                    Call setStore with a folder that driver and executors can use, as in hdfs://host/path."""
                            .formatted(master));
        }
        return Store.at(
                java.nio.file.Path.of(
                                System.getProperty("java.io.tmpdir"),
                                "horovod4j-store-" + System.getProperty("user.name"))
                        .toUri()
                        .toString());
    }

    private M fit(SparkSession spark, NetworkFramework framework, Store files, StoredData data) {
        boolean validates = data.validation().rows() > 0;
        FitPlan plan =
                new FitPlan(
                        framework,
                        data,
                        features(),
                        labels(),
                        value(weightCol),
                        intValue(batchSize()),
                        intValue(epochs),
                        (Boolean) getOrDefault(shuffle),
                        (Long) getOrDefault(seed),
                        isDefined(runId) ? files.folder() + "/runs/" + getOrDefault(runId) : null,
                        (Boolean) getOrDefault(resume),
                        intValue(patience),
                        isDefined(monitor)
                                ? getOrDefault(monitor)
                                : validates ? "val_loss" : "loss",
                        (Boolean) getOrDefault(verbose),
                        value(callback));
        FitTask.Result result =
                HvdSpark.ranks(spark, intValue(numProc))
                        .startTimeout(Duration.ofSeconds(intValue(startTimeout)))
                        .processesIfShared()
                        .run(new FitTask(plan))
                        .getFirst();
        NetworkFiles network = result.network();
        if (network == null) {
            throw new IllegalStateException("rank 0 returned no network");
        }
        M model = newModel(uid);
        model.fill(network, result.history());
        return copyValues(model, new ParamMap()).setParent(this);
    }

    private int intValue(IntParam param) {
        return (Integer) getOrDefault(param);
    }
}

package org.horovod4j.spark.ml;

import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.ml.Model;
import org.apache.spark.ml.param.IntParam;
import org.apache.spark.ml.param.Param;
import org.apache.spark.ml.param.StringArrayParam;
import org.apache.spark.ml.util.DefaultParamsReader$;
import org.apache.spark.ml.util.DefaultParamsWriter$;
import org.apache.spark.ml.util.MLReader;
import org.apache.spark.ml.util.MLWritable;
import org.apache.spark.ml.util.MLWriter;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

import scala.Option;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.TreeMap;
import java.util.function.Function;

/// A trained network as a model of Spark ML: adds predictions to rows, in executors, with one copy of
/// the network for each executor.
///
/// A saved model is a folder with Spark's metadata, the history, and in `network` the files of the
/// framework, which it loads without Spark and without Horovod4J.
///
/// @param <M> the subclass
@SuppressWarnings("this-escape") // params of Spark need their owner; they only ask for its uid
public abstract class HvdModel<M extends HvdModel<M>> extends Model<M> implements MLWritable {
    private static final long serialVersionUID = 1L;
    private static final String NETWORK = "network";
    private static final String HISTORY = "history";

    private final String uid;
    private final ColumnParams columns = new ColumnParams(this);
    private NetworkFiles files = new NetworkFiles(new TreeMap<>());
    private TrainingHistory history = TrainingHistory.EMPTY;

    /// @param uid the unique name of this model
    protected HvdModel(String uid) {
        this.uid = uid; // parameters use it
        super();
        columns.setDefaults(this);
    }

    /// The framework, from the parameters of the subclass.
    protected abstract NetworkFramework framework();

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

    /// The columns of features.
    public M setFeaturesCols(String... names) {
        return with(columns.features, names);
    }

    /// The name of the column with the prediction; empty for none.
    public M setPredictionCol(String name) {
        return with(columns.prediction, name);
    }

    /// The name of the column with all outputs; empty for none.
    public M setRawPredictionCol(String name) {
        return with(columns.rawPrediction, name);
    }

    /// How many rows the network predicts at once.
    public M setBatchSize(int rows) {
        return with(columns.batchSize, rows);
    }

    /// Sets a parameter.
    @SuppressWarnings("unchecked") // M is this class
    protected final <T> M with(Param<T> param, T value) {
        return (M) set(param, value);
    }

    /// The metrics of each epoch of the training.
    public final TrainingHistory history() {
        return history;
    }

    final void fill(NetworkFiles network, TrainingHistory trained) {
        files = network;
        history = trained;
    }

    /// Copies the network for `copy`.
    protected final M copyNetwork(M copy) {
        copy.fill(files, history);
        return copy;
    }

    @Override
    public StructType transformSchema(StructType schema) {
        columns.features(this).forEach(name -> FeatureColumns.check(schema, name, "features"));
        return columns.withOutputs(this, schema);
    }

    @Override
    public Dataset<Row> transform(Dataset<?> dataset) {
        StructType input = dataset.schema();
        StructType output = transformSchema(input);
        SparkSession spark = dataset.sparkSession();
        NetworkFramework framework = framework();
        PredictTask task =
                new PredictTask(
                        uid + "/" + files.digest(framework),
                        framework,
                        JavaSparkContext.fromSparkContext(spark.sparkContext()).broadcast(files),
                        columns.features(this).stream().mapToInt(input::fieldIndex).toArray(),
                        (Integer) getOrDefault(columns.batchSize),
                        !getOrDefault(columns.rawPrediction).isEmpty(),
                        !getOrDefault(columns.prediction).isEmpty());
        return dataset.toDF().mapPartitions(task, Encoders.row(output));
    }

    @Override
    public MLWriter write() {
        return new Writer(this);
    }

    /// Reads a model that was saved.
    ///
    /// @param create makes an empty model with this uid
    protected static <M extends HvdModel<M>> MLReader<M> reader(Function<String, M> create) {
        return new Reader<>(create);
    }

    private static final class Writer extends MLWriter {
        private final HvdModel<?> model;

        Writer(HvdModel<?> model) {
            this.model = model;
        }

        @Override
        public void saveImpl(String path) {
            DefaultParamsWriter$.MODULE$.saveMetadata(
                    model, path, sparkSession(), Option.empty(), Option.empty());
            try {
                Path folder = new Path(path);
                FileSystem target =
                        folder.getFileSystem(sparkSession().sparkContext().hadoopConfiguration());
                for (var file : model.files.byName().entrySet()) {
                    write(
                            target,
                            new Path(new Path(folder, NETWORK), file.getKey()),
                            file.getValue());
                }
                write(
                        target,
                        new Path(folder, HISTORY),
                        model.history.format().getBytes(StandardCharsets.UTF_8));
            } catch (IOException e) {
                throw new UncheckedIOException("the model cannot be saved in " + path, e);
            }
        }

        private static void write(FileSystem target, Path file, byte[] bytes) throws IOException {
            try (FSDataOutputStream out = target.create(file, true)) {
                out.write(bytes);
            }
        }
    }

    private static final class Reader<M extends HvdModel<M>> extends MLReader<M> {
        private final Function<String, M> create;

        Reader(Function<String, M> create) {
            this.create = create;
        }

        @Override
        public M load(String path) {
            var metadata = DefaultParamsReader$.MODULE$.loadMetadata(path, sparkSession(), "");
            M model = create.apply(metadata.uid());
            metadata.getAndSetParams(model, Option.empty());
            try {
                Path folder = new Path(path);
                FileSystem source =
                        folder.getFileSystem(sparkSession().sparkContext().hadoopConfiguration());
                TreeMap<String, byte[]> network = new TreeMap<>();
                for (FileStatus file : source.listStatus(new Path(folder, NETWORK))) {
                    network.put(file.getPath().getName(), read(source, file.getPath()));
                }
                String text =
                        new String(read(source, new Path(folder, HISTORY)), StandardCharsets.UTF_8);
                model.fill(new NetworkFiles(network), TrainingHistory.parse(text));
                return model;
            } catch (IOException e) {
                throw new UncheckedIOException("the model in " + path + " cannot be loaded", e);
            }
        }

        private static byte[] read(FileSystem source, Path file) throws IOException {
            try (InputStream in = source.open(file)) {
                return in.readAllBytes();
            }
        }
    }
}

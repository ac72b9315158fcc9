package org.horovod4j.spark.ml;

import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.ml.linalg.Vectors;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.util.TaskCompletionListener;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;

/// Adds predictions to the rows of a partition, batch by batch.
///
/// @param key identifies the network in an executor
/// @param columns of the features
/// @param raw whether to add the outputs of the network as a vector
/// @param prediction whether to add one number: the output, or the index of the largest output
@SuppressWarnings("ArrayRecordComponent") // never compared
record PredictTask(
        String key,
        NetworkFramework framework,
        Broadcast<NetworkFiles> files,
        int[] columns,
        int batchSize,
        boolean raw,
        boolean prediction)
        implements MapPartitionsFunction<Row, Row> {
    @Override
    public Iterator<Row> call(Iterator<Row> rows) throws Exception {
        if (!rows.hasNext()) {
            return rows;
        }
        LoadedNetworks.Lease lease = LoadedNetworks.SHARED.use(key, framework, files.value());
        TaskCompletionListener close = _ -> lease.close();
        TaskContext.get().addTaskCompletionListener(close);
        return new Predictions(rows, lease.predictor());
    }

    private final class Predictions implements Iterator<Row> {
        private final Iterator<Row> rows;
        private final NetworkPredictor predictor;
        private Iterator<Row> ready = List.<Row>of().iterator();
        private float @Nullable [] features;

        Predictions(Iterator<Row> rows, NetworkPredictor predictor) {
            this.rows = rows;
            this.predictor = predictor;
        }

        @Override
        public boolean hasNext() {
            return ready.hasNext() || rows.hasNext();
        }

        @Override
        public Row next() {
            if (!ready.hasNext()) {
                if (!rows.hasNext()) {
                    throw new NoSuchElementException("the partition has no more rows");
                }
                ready = predictBatch().iterator();
            }
            return ready.next();
        }

        private List<Row> predictBatch() {
            List<Row> batch = new ArrayList<>(batchSize);
            float[] input = new float[0];
            int width = 0;
            while (batch.size() < batchSize && rows.hasNext()) {
                Row row = rows.next();
                features = FeatureColumns.read(row, columns, features);
                if (batch.isEmpty()) {
                    width = features.length;
                    input = new float[width * batchSize];
                }
                System.arraycopy(features, 0, input, batch.size() * width, width);
                batch.add(row);
            }
            return withOutputs(batch, predict(Arrays.copyOf(input, batch.size() * width), batch));
        }

        private float[] predict(float[] input, List<Row> batch) {
            try {
                return predictor.predict(input, batch.size());
            } catch (RuntimeException e) {
                throw e;
            } catch (Exception e) {
                throw new IllegalStateException("the network cannot predict: " + e.getMessage(), e);
            }
        }

        private List<Row> withOutputs(List<Row> batch, float[] outputs) {
            int width = outputs.length / batch.size();
            List<Row> result = new ArrayList<>(batch.size());
            for (int i = 0; i < batch.size(); i++) {
                double[] own = new double[width];
                for (int j = 0; j < width; j++) {
                    own[j] = outputs[i * width + j];
                }
                result.add(withOutput(batch.get(i), own));
            }
            return result;
        }

        private Row withOutput(Row row, double[] output) {
            List<@Nullable Object> values = new ArrayList<>(row.size() + 2);
            for (int i = 0; i < row.size(); i++) {
                values.add(row.get(i));
            }
            if (raw) {
                values.add(Vectors.dense(output));
            }
            if (prediction) {
                values.add(output.length == 1 ? output[0] : indexOfLargest(output));
            }
            return RowFactory.create(values.toArray());
        }
    }

    private static double indexOfLargest(double[] values) {
        int largest = 0;
        for (int i = 1; i < values.length; i++) {
            if (values[i] > values[largest]) {
                largest = i;
            }
        }
        return largest;
    }
}

package org.horovod4j.spark.ml;

/// A network for inference. Several threads may use it at once.
public interface NetworkPredictor extends AutoCloseable {
    /// The outputs of the network, one row after another.
    ///
    /// @param features one row after another
    /// @param rows at least 1
    /// @return the same number of values for each row
    float[] predict(float[] features, int rows) throws Exception;

    @Override
    void close();
}

package org.horovod4j.spark.djl;

import ai.djl.Model;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.training.ParameterStore;

import org.horovod4j.spark.ml.NetworkPredictor;

/// A network of DJL for inference.
record DjlPredictor(DjlNetwork network, Model model) implements NetworkPredictor {
    @Override
    public float[] predict(float[] features, int rows) {
        try (NDManager manager = model.getNDManager().newSubManager()) {
            NDList input = new NDList(network.input(manager, features, rows));
            // A store of its own for each call: several threads may predict.
            return model.getBlock()
                    .forward(new ParameterStore(manager, false), input, false)
                    .head()
                    .toFloatArray();
        }
    }

    @Override
    public void close() {
        model.close();
    }
}

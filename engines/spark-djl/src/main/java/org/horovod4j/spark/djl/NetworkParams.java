package org.horovod4j.spark.djl;

import ai.djl.nn.Block;

import org.apache.spark.ml.param.IntArrayParam;
import org.apache.spark.ml.param.Param;
import org.apache.spark.ml.param.Params;
import org.horovod4j.spark.djl.DjlEstimator.Creator;
import org.horovod4j.spark.ml.SerializedParam;
import org.jspecify.annotations.Nullable;

import java.io.Serializable;

/// The parameters that [DjlEstimator] and [DjlModel] have in common.
final class NetworkParams implements Serializable {
    private static final long serialVersionUID = 1L;

    final SerializedParam<Creator<? extends Block>> block;
    final IntArrayParam inputShape;
    final Param<String> engine;

    NetworkParams(Params parent) {
        block = new SerializedParam<>(parent, "block", "creates the network");
        inputShape = new IntArrayParam(parent, "inputShape", "the shape of the input of one row");
        engine = new Param<>(parent, "engine", "the engine of DJL");
        parent.setDefault(inputShape, new int[0]);
    }

    /// @param training null for inference
    DjlNetwork framework(Params parent, DjlNetwork.@Nullable Training training) {
        return new DjlNetwork(
                parent.getOrDefault(block),
                parent.getOrDefault(inputShape),
                parent.isDefined(engine) ? parent.getOrDefault(engine) : null,
                training);
    }
}

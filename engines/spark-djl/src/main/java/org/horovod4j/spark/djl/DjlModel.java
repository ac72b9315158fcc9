package org.horovod4j.spark.djl;

import ai.djl.nn.Block;

import org.apache.spark.ml.param.IntArrayParam;
import org.apache.spark.ml.param.Param;
import org.apache.spark.ml.param.ParamMap;
import org.apache.spark.ml.util.MLReader;
import org.horovod4j.spark.djl.DjlEstimator.Creator;
import org.horovod4j.spark.ml.HvdModel;
import org.horovod4j.spark.ml.NetworkFramework;
import org.horovod4j.spark.ml.SerializedParam;

/// A network of DJL that a [DjlEstimator] has trained: adds predictions to rows.
///
/// A saved model has the parameters in `network/network-0000.params`, which DJL loads alone, by
/// `Model.load(folder, "network")` after `setBlock`.
public final class DjlModel extends HvdModel<DjlModel> {
    private static final long serialVersionUID = 1L;

    private final NetworkParams network = new NetworkParams(this);

    /// An empty model, for Spark.
    ///
    /// @param uid the unique name of this model
    public DjlModel(String uid) {
        super(uid);
    }

    /// Reads models that were saved.
    public static MLReader<DjlModel> read() {
        return reader(DjlModel::new);
    }

    /// Loads a model that was saved. Load only what you trust: it has serialized objects.
    public static DjlModel load(String path) {
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

    @Override
    protected NetworkFramework framework() {
        return network.framework(this, null);
    }

    @Override
    public DjlModel copy(ParamMap extra) {
        DjlModel copy = copyValues(new DjlModel(uid()), extra);
        return copyNetwork(copy).setParent(parent());
    }
}

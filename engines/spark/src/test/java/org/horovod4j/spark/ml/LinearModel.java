package org.horovod4j.spark.ml;

import org.apache.spark.ml.param.ParamMap;
import org.apache.spark.ml.util.MLReader;

/// The model of [LinearEstimator].
public final class LinearModel extends HvdModel<LinearModel> {
    private static final long serialVersionUID = 1L;

    public LinearModel(String uid) {
        super(uid);
    }

    public static MLReader<LinearModel> read() {
        return reader(LinearModel::new);
    }

    @Override
    protected NetworkFramework framework() {
        return new LinearNetwork();
    }

    @Override
    public LinearModel copy(ParamMap extra) {
        return copyNetwork(copyValues(new LinearModel(uid()), extra));
    }
}

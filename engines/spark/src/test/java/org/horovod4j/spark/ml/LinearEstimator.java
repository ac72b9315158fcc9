package org.horovod4j.spark.ml;

import org.apache.spark.ml.param.ParamMap;
import org.apache.spark.ml.util.DefaultParamsReader;
import org.apache.spark.ml.util.Identifiable$;
import org.apache.spark.ml.util.MLReader;

/// An estimator of the smallest framework, [LinearNetwork].
public final class LinearEstimator extends HvdEstimator<LinearEstimator, LinearModel> {
    private static final long serialVersionUID = 1L;

    public LinearEstimator() {
        this(Identifiable$.MODULE$.randomUID("LinearEstimator"));
    }

    public LinearEstimator(String uid) {
        super(uid);
    }

    public static MLReader<LinearEstimator> read() {
        return new DefaultParamsReader<>();
    }

    @Override
    protected NetworkFramework framework() {
        return new LinearNetwork();
    }

    @Override
    protected LinearModel newModel(String modelUid) {
        return new LinearModel(modelUid);
    }

    @Override
    public LinearEstimator copy(ParamMap extra) {
        return defaultCopy(extra);
    }
}

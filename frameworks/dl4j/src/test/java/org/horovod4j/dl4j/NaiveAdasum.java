package org.horovod4j.dl4j;

import org.nd4j.linalg.api.ndarray.INDArray;

/// Adasum of two changes, from its definition.
final class NaiveAdasum {
    private NaiveAdasum() {}

    static INDArray of(INDArray a, INDArray b) {
        double product = dot(a, b);
        return a.mul(1 - product / (2 * dot(a, a))).add(b.mul(1 - product / (2 * dot(b, b))));
    }

    private static double dot(INDArray a, INDArray b) {
        return a.mul(b).sumNumber().doubleValue();
    }
}

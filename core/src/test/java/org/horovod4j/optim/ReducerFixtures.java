package org.horovod4j.optim;

import org.horovod4j.Communicator;

import java.util.Arrays;

/// Reducers for [FakeGradients], and expected values.
final class ReducerFixtures {
    /// Odd, so not a multiple of a vector length.
    static final int LENGTH = 7;

    private ReducerFixtures() {}

    static GradientReducer reducer(
            Communicator comm, FakeGradients fakeGradients, GradientSettings.Builder settings) {
        return new GradientReducer(comm.processSet(), fakeGradients, settings.build());
    }

    static GradientSettings.Builder settings() {
        return GradientSettings.builder();
    }

    static float[] filled(double value) {
        float[] values = new float[LENGTH];
        Arrays.fill(values, (float) value);
        return values;
    }
}

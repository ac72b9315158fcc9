package org.horovod4j.optim;

import org.horovod4j.Communicator;

import java.util.Arrays;

/// Reducers for the gradients of a [FakeGradients], and what these should be.
final class ReducerFixtures {
    /// Odd, so that no vector fits it.
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

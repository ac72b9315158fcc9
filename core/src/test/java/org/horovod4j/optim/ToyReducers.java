package org.horovod4j.optim;

import org.horovod4j.Communicator;

import java.util.Arrays;

/// Reducers for the gradients of a [Toy], and what these should be.
final class ToyReducers {
    /// Odd, so that no vector fits it.
    static final int LENGTH = 7;

    private ToyReducers() {}

    static GradientReducer reducer(Communicator comm, Toy toy, GradientSettings.Builder settings) {
        return new GradientReducer(comm.processSet(), toy, settings.build());
    }

    static GradientSettings.Builder settings() {
        return GradientSettings.builder();
    }

    static float[] all(double value) {
        float[] values = new float[LENGTH];
        Arrays.fill(values, (float) value);
        return values;
    }
}

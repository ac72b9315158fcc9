package org.horovod4j.option;

import org.jspecify.annotations.Nullable;

import java.nio.file.Path;

/// How settings are tuned while the job trains.
///
/// @param log a row for each setting that is tried; null for none
/// @param warmupSamples how many samples are thrown away first
/// @param stepsPerSample how many training steps a sample is taken over
/// @param maxSamples how many settings are tried at most
/// @param noise how much of the difference between samples is taken for chance, from 0 to 1
/// @param file what keeps the best settings for the next run; null for nothing
public record AutotuneSettings(
        boolean enabled,
        @Nullable Path log,
        int warmupSamples,
        int stepsPerSample,
        int maxSamples,
        double noise,
        @Nullable Path file) {
    public AutotuneSettings {
        if (warmupSamples < 0 || stepsPerSample < 1 || maxSamples < 1) {
            throw new IllegalArgumentException(
                    "cannot tune by %d + %d samples of %d steps"
                            .formatted(warmupSamples, maxSamples, stepsPerSample));
        }
        if (!(noise >= 0 && noise <= 1)) {
            throw new IllegalArgumentException("noise from 0 to 1, not " + noise);
        }
    }

    static AutotuneSettings from(Environment environment) {
        return new AutotuneSettings(
                environment.get(RuntimeOptions.AUTOTUNE),
                environment.find(RuntimeOptions.AUTOTUNE_LOG).orElse(null),
                environment.get(RuntimeOptions.AUTOTUNE_WARMUP_SAMPLES),
                environment.get(RuntimeOptions.AUTOTUNE_STEPS_PER_SAMPLE),
                environment.get(RuntimeOptions.AUTOTUNE_MAX_SAMPLES),
                environment.get(RuntimeOptions.AUTOTUNE_NOISE),
                environment.find(RuntimeOptions.AUTOTUNE_FILE).orElse(null));
    }
}

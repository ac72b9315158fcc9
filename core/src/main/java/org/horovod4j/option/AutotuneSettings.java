package org.horovod4j.option;

import org.jspecify.annotations.Nullable;

import java.nio.file.Path;

/// How settings are tuned while the job trains.
///
/// @param log gets a row for each setting that is tried; null for none
/// @param warmupSamples how many samples are discarded first
/// @param stepsPerSample how many training steps a sample takes
/// @param maxSamples how many settings are tried at most
/// @param file stores the best settings for the next run; null for none
public record AutotuneSettings(
        boolean enabled,
        @Nullable Path log,
        int warmupSamples,
        int stepsPerSample,
        int maxSamples,
        @Nullable Path file) {
    public AutotuneSettings {
        if (warmupSamples < 0 || stepsPerSample < 1 || maxSamples < 1) {
            throw new IllegalArgumentException(
                    "autotune needs samples and steps: %d warm-up samples, %d samples, %d steps"
                            .formatted(warmupSamples, maxSamples, stepsPerSample));
        }
    }

    static AutotuneSettings from(Environment environment) {
        double _ = environment.get(RuntimeOptions.AUTOTUNE_NOISE); // checked, but not used
        return new AutotuneSettings(
                environment.get(RuntimeOptions.AUTOTUNE),
                environment.find(RuntimeOptions.AUTOTUNE_LOG).orElse(null),
                environment.get(RuntimeOptions.AUTOTUNE_WARMUP_SAMPLES),
                environment.get(RuntimeOptions.AUTOTUNE_STEPS_PER_SAMPLE),
                environment.get(RuntimeOptions.AUTOTUNE_MAX_SAMPLES),
                environment.find(RuntimeOptions.AUTOTUNE_FILE).orElse(null));
    }
}

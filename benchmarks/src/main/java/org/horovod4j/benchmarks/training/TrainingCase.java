package org.horovod4j.benchmarks.training;

import org.horovod4j.benchmarks.report.Result;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// What was tried: all rounds of one trial make one figure.
///
/// The program of its [Result] is `mode-work`, as in `overlap-native`; `*8` after it says that each rank
/// trains on 8 images in a step, and `+waited` that this is not the step but the [StepMetric] so named.
record TrainingCase(int np, TrainingMode mode, String workload, int images, StepMetric metric) {
    private static final Pattern PROGRAM =
            Pattern.compile(
                    "(?<mode>[a-z]+)-(?<work>[a-z0-9]+)(\\*(?<images>[0-9]+))?(\\+(?<quantity>[a-z]+))?");

    static TrainingCase of(Result result) {
        Matcher matcher = PROGRAM.matcher(result.program());
        if (!matcher.matches()) {
            throw new IllegalArgumentException(
                    "not a program 'mode-work', 'mode-work*images' or 'mode-work+metric': '%s'"
                            .formatted(result.program()));
        }
        String images = matcher.group("images");
        String quantity = matcher.group("quantity");
        return new TrainingCase(
                result.np(),
                TrainingMode.parse(matcher.group("mode")),
                matcher.group("work"),
                images == null ? 0 : Integer.parseInt(images),
                quantity == null
                        ? StepMetric.STEP
                        : StepMetric.valueOf(quantity.toUpperCase(Locale.ROOT)));
    }

    String program() {
        String step = mode + "-" + workload + (images == 0 ? "" : "*" + images);
        return metric == StepMetric.STEP ? step : step + "+" + metric;
    }

    TrainingCase with(TrainingMode another) {
        return new TrainingCase(np, another, workload, images, metric);
    }

    TrainingCase with(StepMetric another) {
        return new TrainingCase(np, mode, workload, images, another);
    }

    TrainingCase withProcesses(int processes) {
        return new TrainingCase(processes, mode, workload, images, metric);
    }
}

package org.horovod4j.benchmarks.training;

import org.horovod4j.benchmarks.report.Result;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// The case of a result: all its rounds are summarized in one value.
///
/// The program name of its [Result] is `mode-work`, such as `overlap-native`. A suffix `*8` means
/// that each rank trains on 8 images per step. A suffix `+waited` names the [StepMetric] if it is
/// not the whole step.
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

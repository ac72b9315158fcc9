package org.horovod4j.training;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;
import java.util.OptionalInt;

/// The text that [TrainingProgress] prints.
record ProgressFormat(OptionalInt epochs, String unit) {
    private static final int WIDTH = 24;

    /// The bar within an epoch.
    String epochProgress(
            int epoch,
            double done,
            double perSecond,
            List<TrainingProgress.Metric> metrics,
            Duration left) {
        int filled = (int) Math.round(done * WIDTH);
        return String.format(
                Locale.ROOT,
                "%s [%s%s] %3.0f %% | %s%s | %s left",
                name(epoch),
                "=".repeat(filled),
                " ".repeat(WIDTH - filled),
                done * 100,
                rate(perSecond),
                joinMetrics(metrics),
                time(left));
    }

    /// The line of a complete epoch.
    String epochSummary(
            int epoch,
            double perSecond,
            List<TrainingProgress.Metric> metrics,
            OptionalDouble learningRate,
            Duration took) {
        String text =
                "%s done in %s | %s%s"
                        .formatted(name(epoch), time(took), rate(perSecond), joinMetrics(metrics));
        return learningRate.isEmpty()
                ? text
                : text
                        + String.format(
                                Locale.ROOT,
                                " | learning rate %.3g", // three digits, however small
                                learningRate.getAsDouble());
    }

    /// The line of the whole training.
    String summary(
            long samples,
            Duration took,
            double perSecond,
            int ranks,
            OptionalDouble singleProcess) {
        String text =
                "trained on %d %s in %s | %s in all"
                        .formatted(samples, unit, time(took), rate(perSecond));
        if (ranks > 1) {
            text +=
                    String.format(
                            Locale.ROOT, ", %.1f on each of %d ranks", perSecond / ranks, ranks);
        }
        return singleProcess.isEmpty()
                ? text
                : text
                        + String.format(
                                Locale.ROOT,
                                " | scaling efficiency %.1f %% of %d x %.1f %s/s",
                                100 * perSecond / (ranks * singleProcess.getAsDouble()),
                                ranks,
                                singleProcess.getAsDouble(),
                                unit);
    }

    private String name(int epoch) {
        return epochs.isPresent()
                ? "epoch %d/%d".formatted(epoch + 1, epochs.getAsInt())
                : "epoch %d".formatted(epoch + 1);
    }

    private String rate(double perSecond) {
        return String.format(Locale.ROOT, "%.1f %s/s", perSecond, unit);
    }

    private static String joinMetrics(List<TrainingProgress.Metric> metrics) {
        StringBuilder text = new StringBuilder();
        metrics.forEach(
                metric ->
                        text.append(
                                String.format(
                                        Locale.ROOT, " | %s %.4f", metric.name(), metric.value())));
        return text.toString();
    }

    private static String time(Duration time) {
        if (time.compareTo(Duration.ofMinutes(1)) < 0) {
            return String.format(Locale.ROOT, "%.1f s", time.toMillis() / 1e3);
        }
        if (time.compareTo(Duration.ofHours(1)) < 0) {
            return "%d min %02d s".formatted(time.toMinutes(), time.toSecondsPart());
        }
        return "%d h %02d min".formatted(time.toHours(), time.toMinutesPart());
    }
}

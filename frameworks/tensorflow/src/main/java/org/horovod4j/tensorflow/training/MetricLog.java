package org.horovod4j.tensorflow.training;

import org.tensorflow.Operand;

import java.io.PrintStream;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.LongSupplier;

/// Averages metrics over steps and ranks, and prints them on rank 0 with the steps per second.
///
/// ```java
/// TrainingSession.of(graph, step)
///         .hook(MetricLog.every(100).metric("loss", loss).metric("accuracy", accuracy))
/// ```
///
/// ```
/// step 100 | loss 0.4821 | accuracy 0.8603 | 41.7 steps/s
/// ```
///
/// A line has the averages of all steps since the last line, over all ranks. The first step includes
/// the start of TensorFlow, so it does not count for the steps per second.
public final class MetricLog implements TrainingHook {
    private final int every;
    private final MetricAverages averages = new MetricAverages();
    private PrintStream out = System.out;
    private LongSupplier nanoTime = System::nanoTime;
    private Map<String, Double> last = Map.of();
    private int startStep = -1;
    private long startNanos;
    private int lineStep;
    private long lineNanos;

    private MetricLog(int every) {
        this.every = every;
    }

    /// A line every `steps` steps.
    public static MetricLog every(int steps) {
        if (steps < 1) {
            throw new IllegalArgumentException("steps between lines: at least 1, not " + steps);
        }
        return new MetricLog(steps);
    }

    /// Adds a scalar of the graph: the mean over a batch.
    public MetricLog metric(String name, Operand<?> scalar) {
        averages.add(name, scalar);
        return this;
    }

    /// The stream to print to; standard output by default.
    public MetricLog output(PrintStream stream) {
        out = stream;
        return this;
    }

    /// The clock; `System.nanoTime` by default.
    public MetricLog clock(LongSupplier nanos) {
        nanoTime = nanos;
        return this;
    }

    /// The averages of the last line, on all ranks; empty before the first line.
    public Map<String, Double> last() {
        return last;
    }

    @Override
    public List<Operand<?>> fetches() {
        return averages.outputs();
    }

    @Override
    public void afterStep(TrainingStep step) {
        averages.addBatch(1, step::scalar);
        if (startStep < 0) {
            startStep = step.number();
            startNanos = nanoTime.getAsLong();
            lineStep = startStep;
            lineNanos = startNanos;
        }
        if (step.number() % every == 0) {
            last = averages.overRanks(step.session().communicator());
            printLine(step.session());
        }
    }

    private void printLine(TrainingSession session) {
        long now = nanoTime.getAsLong();
        if (session.communicator().rank() == 0) {
            StringBuilder line = new StringBuilder("step ").append(session.step());
            last.forEach(
                    (name, value) ->
                            line.append(String.format(Locale.ROOT, " | %s %.4f", name, value)));
            line.append(rate(session.step() - lineStep, now - lineNanos));
            session.learningRate()
                    .ifPresent(
                            rate ->
                                    line.append(
                                            String.format(
                                                    Locale.ROOT, " | learning rate %.3g", rate)));
            out.println(line);
        }
        lineStep = session.step();
        lineNanos = now;
    }

    private static String rate(int steps, long nanos) {
        return steps > 0 && nanos > 0
                ? String.format(Locale.ROOT, " | %.1f steps/s", steps * 1e9 / nanos)
                : "";
    }

    /// Prints the number of steps and the steps per second of the whole training.
    @Override
    public void atEnd(TrainingSession session) {
        if (session.communicator().rank() == 0 && startStep >= 0) {
            out.println(
                    "%d steps done%s"
                            .formatted(
                                    session.step(),
                                    rate(
                                            session.step() - startStep,
                                            nanoTime.getAsLong() - startNanos)));
        }
    }
}

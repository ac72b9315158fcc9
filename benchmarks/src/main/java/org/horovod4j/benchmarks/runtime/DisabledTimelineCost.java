package org.horovod4j.benchmarks.runtime;

import org.horovod4j.benchmarks.report.Percentiles;
import org.horovod4j.benchmarks.report.Table;
import org.horovod4j.benchmarks.report.Units;
import org.horovod4j.runtime.timeline.Recorder;
import org.horovod4j.runtime.timeline.Timeline;
import org.horovod4j.runtime.timeline.TraceOwner;

import java.util.List;
import java.util.stream.IntStream;

/// Measures the cost of the timeline while it is disabled.
///
/// There is no build of the runtime without a timeline to compare with. A disabled timeline only
/// calls [Recorder#isOn], so this class times that call alone. The number of calls is proportional
/// to the number of operations in a step.
final class DisabledTimelineCost {
    /// In a locked plan: one check when an operation is submitted, and one for its batch, which may
    /// contain only this operation.
    private static final int CHECKS_PER_OPERATION = 2;

    private static final int CHECKS_PER_ROUND = 20_000_000;
    private static final int ROUNDS = 15;
    private static final int WARM_UP_ROUNDS = 5;

    private DisabledTimelineCost() {}

    /// Nanoseconds of one check, on the recorder that a rank has by default.
    static Percentiles measure() {
        Timeline timeline = new Timeline(new TraceOwner(0, "localhost", 0), Timeline.UNLIMITED);
        Recorder recorder = Recorder.of(List.of(timeline, Recorder.jfr(0)));
        return Percentiles.of(
                IntStream.range(0, ROUNDS)
                        .mapToDouble(_ -> nanosPerCheck(recorder))
                        .skip(WARM_UP_ROUNDS)
                        .toArray());
    }

    private static double nanosPerCheck(Recorder recorder) {
        int on = 0;
        long start = System.nanoTime();
        for (int i = 0; i < CHECKS_PER_ROUND; i++) {
            if (recorder.isOn()) {
                on++;
            }
        }
        double nanos = System.nanoTime() - start;
        if (on > 0) {
            throw new IllegalStateException("the recorder is on, but was not started");
        }
        return nanos / CHECKS_PER_ROUND;
    }

    /// For each workload, the time of all checks of a step.
    static Table table(Percentiles nanosPerQuestion) {
        Table table = new Table(List.of("work", "questions in a step", "time in a step"));
        for (Workload workload : Workload.values()) {
            int questions = workload.parameters().size() * CHECKS_PER_OPERATION;
            double microsPerNano = questions * 1e-3;
            Percentiles micros =
                    new Percentiles(
                            nanosPerQuestion.median() * microsPerNano,
                            nanosPerQuestion.p10() * microsPerNano,
                            nanosPerQuestion.p90() * microsPerNano);
            table.add(List.of(workload.title(), Integer.toString(questions), Units.time(micros)));
        }
        return table;
    }
}

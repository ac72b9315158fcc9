package org.horovod4j.benchmarks.training;

import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.benchmarks.report.Percentiles;
import org.horovod4j.benchmarks.report.Result;

import java.io.IOException;
import java.nio.file.Path;

/// The times of a job's steps. Steps follow each other without a barrier, as in training: where one
/// ends, the next begins.
public final class StepTimes {
    /// The scripts leave the transport to the runtime, which means this one inside a host.
    private static final String TRANSPORT = "shm";

    /// How many processes made the steps.
    private final int processes;

    private final double[] stepMicros;
    private final double[] waitedMicros;

    private StepTimes(int processes, int steps) {
        this.processes = processes;
        this.stepMicros = new double[steps];
        this.waitedMicros = new double[steps];
    }

    /// A step of a rank.
    @FunctionalInterface
    public interface Step {
        /// Makes the step.
        ///
        /// @return the nanoseconds from the end of the backward pass until all gradients were averaged
        long run() throws IOException;
    }

    /// Makes `warmUp` steps, and then `steps` that count. Both are the same on all ranks, which begin
    /// together: what they share of the machine they share all the time. Times are means over the
    /// ranks, since the rate of a job is that of all its ranks.
    public static StepTimes measureAllRanks(Communicator comm, Step step, int warmUp, int steps)
            throws IOException {
        comm.barrier();
        StepTimes times = new StepTimes(comm.size(), steps);
        times.measure(step, warmUp);
        comm.allreduce("step times", times.stepMicros, ReduceOp.AVERAGE);
        comm.allreduce("waiting times", times.waitedMicros, ReduceOp.AVERAGE);
        return times;
    }

    /// The same for one rank, while the others sleep: the process alone that a job is held against, and
    /// minutes nearer to the job than a process of its own could be.
    public static StepTimes measureOneRank(
            Communicator comm, int rank, Step step, int warmUp, int steps) throws IOException {
        comm.barrier();
        StepTimes times = new StepTimes(1, steps);
        if (comm.rank() == rank) {
            times.measure(step, warmUp);
        }
        comm.broadcast("step times of one", Tensor.of(times.stepMicros), rank);
        comm.broadcast("waiting times of one", Tensor.of(times.waitedMicros), rank);
        return times;
    }

    private void measure(Step step, int warmUp) throws IOException {
        for (int i = 0; i < warmUp; i++) {
            step.run();
        }
        long start = System.nanoTime();
        for (int i = 0; i < stepMicros.length; i++) {
            long waited = step.run();
            long end = System.nanoTime();
            stepMicros[i] = (end - start) * 1e-3;
            waitedMicros[i] = waited * 1e-3;
            start = end;
        }
    }

    /// Adds a line for each quantity to the results.
    ///
    /// @param images how many images a rank trains on in a step; 0 for none
    public void appendTo(
            Path output,
            Communicator comm,
            TrainingMode trainingMode,
            String work,
            int images,
            long gradientBytes)
            throws IOException {
        if (comm.rank() != 0) {
            return;
        }
        TrainingCase trainingCase =
                new TrainingCase(processes, trainingMode, work, images, StepMetric.STEP);
        append(output, trainingCase, gradientBytes, stepMicros);
        append(output, trainingCase.with(StepMetric.WAITED), gradientBytes, waitedMicros);
    }

    private static void append(
            Path output, TrainingCase trainingCase, long gradientBytes, double[] micros)
            throws IOException {
        new Result(
                        trainingCase.program(),
                        TRANSPORT,
                        trainingCase.np(),
                        gradientBytes,
                        Percentiles.of(micros))
                .appendTo(output);
    }
}

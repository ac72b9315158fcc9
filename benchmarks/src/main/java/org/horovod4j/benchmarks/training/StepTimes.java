package org.horovod4j.benchmarks.training;

import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.benchmarks.report.Percentiles;
import org.horovod4j.benchmarks.report.Result;

import java.io.IOException;
import java.nio.file.Path;

/// The times of a job's steps. There is no barrier between steps, as in training: each step starts
/// when the previous one ends.
public final class StepTimes {
    /// The scripts do not set a transport. Within a host, the runtime then selects this one.
    private static final String TRANSPORT = "shm";

    /// The number of processes that ran the steps.
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
        /// Runs the step.
        ///
        /// @return the nanoseconds from the end of the backward pass until all gradients are
        ///     averaged, or [NetworkTraining#UNKNOWN]
        long run() throws IOException;
    }

    /// Runs `warmUp` steps, then measures `steps`. Both numbers are the same on all ranks. The
    /// ranks start together, so they share the machine during the whole measurement. Times are
    /// means over the ranks, because the rate of a job is the rate of all its ranks.
    public static StepTimes measureAllRanks(Communicator comm, Step step, int warmUp, int steps)
            throws IOException {
        comm.barrier();
        StepTimes times = new StepTimes(comm.size(), steps);
        times.measure(step, warmUp);
        comm.allreduce("step times", times.stepMicros, ReduceOp.AVERAGE);
        comm.allreduce("waiting times", times.waitedMicros, ReduceOp.AVERAGE);
        return times;
    }

    /// The same for a device that computes asynchronously: a single step cannot be timed. The result is
    /// one time, the mean of the steps of the slowest rank.
    ///
    /// @param completion waits until the device has computed all steps
    public static StepTimes measureTurn(
            Communicator comm, Step step, Runnable completion, int warmUp, int steps)
            throws IOException {
        for (int i = 0; i < warmUp; i++) {
            step.run();
        }
        completion.run();
        comm.barrier();
        long start = System.nanoTime();
        for (int i = 0; i < steps; i++) {
            step.run();
        }
        completion.run();
        StepTimes times = new StepTimes(comm.size(), 1);
        times.stepMicros[0] = (System.nanoTime() - start) * 1e-3 / steps;
        times.waitedMicros[0] = NetworkTraining.UNKNOWN;
        comm.allreduce("time of a turn", times.stepMicros, ReduceOp.MAX);
        return times;
    }

    /// Measures one rank while the others sleep. This is the single-process baseline of the job. It
    /// runs within minutes of the job, closer than a separate process could.
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

    /// Appends a result line for each metric that is known.
    ///
    /// @param images the number of images per rank and step, or 0 if there are none
    /// @param round the round in which they were measured
    public void appendTo(
            Path output,
            Communicator comm,
            TrainingMode trainingMode,
            String work,
            int images,
            long gradientBytes,
            int round)
            throws IOException {
        if (comm.rank() != 0) {
            return;
        }
        TrainingCase trainingCase =
                new TrainingCase(processes, trainingMode, work, images, StepMetric.STEP);
        append(output, trainingCase, gradientBytes, round, stepMicros);
        if (waitedMicros[0] >= 0) {
            append(
                    output,
                    trainingCase.with(StepMetric.WAITED),
                    gradientBytes,
                    round,
                    waitedMicros);
        }
    }

    private static void append(
            Path output, TrainingCase trainingCase, long gradientBytes, int round, double[] micros)
            throws IOException {
        new Result(
                        trainingCase.program(),
                        TRANSPORT,
                        trainingCase.np(),
                        gradientBytes,
                        round,
                        1,
                        Percentiles.of(micros))
                .appendTo(output);
    }
}

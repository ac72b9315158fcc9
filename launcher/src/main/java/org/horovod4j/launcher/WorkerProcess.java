package org.horovod4j.launcher;

import org.horovod4j.launcher.driver.Worker;
import org.horovod4j.launcher.output.LastLines;
import org.horovod4j.launcher.output.OutputSource;
import org.horovod4j.launcher.output.OutputTargets;
import org.horovod4j.launcher.process.HostAgent;
import org.horovod4j.launcher.process.OutputReader;

import java.time.Duration;
import java.util.List;

/// The process of a worker, and the two threads that forward its output.
final class WorkerProcess {
    private final Worker worker;
    private final HostAgent agent;
    private final Process process;
    private final OutputTargets outputTargets;
    private final OutputSource outputSource;
    private final LastLines lastErrors = new LastLines();
    private final OutputReader output;
    private final OutputReader errors;

    /// @param unwantedLine a line of standard error to drop once; empty for none
    WorkerProcess(
            Worker worker,
            HostAgent agent,
            Process process,
            OutputTargets outputTargets,
            String unwantedLine) {
        this.worker = worker;
        this.agent = agent;
        this.process = process;
        this.outputTargets = outputTargets;
        this.outputSource = outputTargets.source(worker.number());
        this.output = outputSource.forwardOutput(process.getInputStream());
        this.errors =
                outputSource.forwardErrors(process.getErrorStream(), lastErrors, unwantedLine);
    }

    Worker worker() {
        return worker;
    }

    Process process() {
        return process;
    }

    /// Prints its lines with this rank from now on.
    void setRank(int rank) {
        outputSource.setRank(rank);
    }

    /// Prints its lines without a rank from now on.
    void clearRank() {
        outputSource.clearRank();
    }

    /// Kills the process and the rest of its process group. Does nothing when its host is lost.
    void kill() {
        agent.kill(process);
    }

    /// To be called when the process has exited.
    void ended() {
        agent.ended(process);
    }

    /// Whether both output streams have ended.
    boolean hasPrintedAll() {
        return output.hasEnded() && errors.hasEnded();
    }

    /// Waits for the rest of the output of processes that have exited.
    static void awaitOutput(List<WorkerProcess> processes) throws InterruptedException {
        long beginNanos = System.nanoTime();
        for (WorkerProcess each : processes) {
            Duration silence = each.agent.drain(each.process);
            boolean _ = each.output.awaitEnd(silence, beginNanos);
            boolean _ = each.errors.awaitEnd(silence, beginNanos);
        }
    }

    /// Closes its output files. To be called when [#hasPrintedAll].
    void closeFiles() {
        outputTargets.close(worker.number());
    }

    /// The last lines of its standard error; complete when `awaitOutput` has returned.
    List<String> lastErrors() {
        return lastErrors.lines();
    }

    @Override
    public String toString() {
        return "%s on %s (process %d)".formatted(outputSource, worker.host(), process.pid());
    }
}

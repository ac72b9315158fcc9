package org.horovod4j.launcher;

import org.horovod4j.launcher.driver.Worker;
import org.horovod4j.launcher.output.LastLines;
import org.horovod4j.launcher.output.OutputForwarder;
import org.horovod4j.launcher.output.OutputSource;
import org.horovod4j.launcher.output.OutputTargets;
import org.horovod4j.launcher.process.HostAgent;
import org.horovod4j.launcher.process.OutputReader;

import java.time.Duration;
import java.util.List;

/// A running worker of an elastic job: its process and the two threads that carry its output.
final class WorkerProcess {
    private final Worker worker;
    private final HostAgent agent;
    private final Process process;
    private final OutputTargets outputTargets;
    private final OutputSource outputSource;
    private final LastLines lastErrors = new LastLines();
    private final OutputReader output;
    private final OutputReader errors;

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
        this.outputSource = OutputSource.ofWorker(worker.number());
        this.output =
                OutputForwarder.ofOutput(outputSource, process.getInputStream(), outputTargets);
        this.errors =
                OutputForwarder.ofErrors(
                        outputSource,
                        process.getErrorStream(),
                        outputTargets,
                        lastErrors,
                        unwantedLine);
    }

    Worker worker() {
        return worker;
    }

    Process process() {
        return process;
    }

    /// Its lines carry this rank from now on.
    void becomes(int rank) {
        outputSource.setRank(rank);
    }

    /// It has no rank any more.
    void leaves() {
        outputSource.clearRank();
    }

    /// Kills it, and all that is left of its process group. Does nothing when its host is lost.
    void kill() {
        agent.kill(process);
    }

    /// Takes note that it is gone.
    void ended() {
        agent.ended(process);
    }

    /// Whether both streams have come to their end.
    boolean hasPrintedAll() {
        return output.hasEnded() && errors.hasEnded();
    }

    /// Waits for the rest of what it has printed. To be called when it has ended.
    void awaitOutput() throws InterruptedException {
        Duration silence = agent.drain(process);
        boolean _ = output.awaitEnd(silence);
        boolean _ = errors.awaitEnd(silence);
    }

    /// Closes its files. To be called when it has printed all.
    void closeFiles() {
        outputTargets.close(worker.number());
    }

    /// Complete once [#awaitOutput] has returned.
    List<String> lastErrors() {
        return lastErrors.lines();
    }

    @Override
    public String toString() {
        return "%s (process %d)".formatted(worker, process.pid());
    }
}

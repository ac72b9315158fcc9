package org.horovod4j.launcher;

import org.horovod4j.launcher.output.LastLines;
import org.horovod4j.launcher.output.OutputForwarder;
import org.horovod4j.launcher.output.OutputTargets;
import org.horovod4j.launcher.plan.Slot;
import org.horovod4j.launcher.process.HostAgent;
import org.horovod4j.launcher.process.OutputReader;

import java.time.Duration;
import java.util.List;

/// One running rank: its process and the two threads that carry its output.
final class RankProcess {
    private final Slot slot;
    private final HostAgent agent;
    private final Process process;
    private final LastLines lastErrors = new LastLines();
    private final OutputReader output;
    private final OutputReader errors;

    RankProcess(
            Slot slot,
            HostAgent agent,
            Process process,
            OutputTargets outputTargets,
            String unwantedLine) {
        this.slot = slot;
        this.agent = agent;
        this.process = process;
        this.output =
                OutputForwarder.ofOutput(slot.rank(), process.getInputStream(), outputTargets);
        this.errors =
                OutputForwarder.ofErrors(
                        slot.rank(),
                        process.getErrorStream(),
                        outputTargets,
                        lastErrors,
                        unwantedLine);
    }

    int rank() {
        return slot.rank();
    }

    String host() {
        return slot.host();
    }

    Process process() {
        return process;
    }

    /// Waits for the rest of what it has printed. To be called when it has ended.
    void awaitOutput() throws InterruptedException {
        Duration silence = agent.drain(process);
        boolean _ = output.awaitEnd(silence);
        boolean _ = errors.awaitEnd(silence);
    }

    /// Complete once [#awaitOutput] has returned.
    List<String> lastErrors() {
        return lastErrors.lines();
    }

    @Override
    public String toString() {
        return "rank " + slot.rank() + " on " + slot.host() + " (process " + process.pid() + ")";
    }
}

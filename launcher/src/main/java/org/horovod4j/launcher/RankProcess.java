package org.horovod4j.launcher;

import org.horovod4j.launcher.output.Forwarding;
import org.horovod4j.launcher.output.LastLines;
import org.horovod4j.launcher.output.Pump;
import org.horovod4j.launcher.plan.Slot;

import java.time.Duration;
import java.util.List;

/// One running rank: its process and the two threads that carry its output.
final class RankProcess {
    /// How long a stream may stay silent, after everything has ended, before it is given up.
    private static final Duration SILENCE = Duration.ofSeconds(1);

    private final Slot slot;
    private final Process process;
    private final LastLines lastErrors = new LastLines();
    private final Pump output;
    private final Pump errors;

    RankProcess(Slot slot, Process process, Forwarding forwarding, String unwantedLine) {
        this.slot = slot;
        this.process = process;
        this.output = Pump.ofOutput(slot.rank(), process.getInputStream(), forwarding);
        this.errors =
                Pump.ofErrors(
                        slot.rank(),
                        process.getErrorStream(),
                        forwarding,
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

    void awaitOutput() throws InterruptedException {
        output.awaitEnd(SILENCE);
        errors.awaitEnd(SILENCE);
    }

    /// Complete once [#awaitOutput] has returned.
    List<String> lastErrors() {
        return lastErrors.lines();
    }

    @Override
    public String toString() {
        return "rank %d on %s (process %d)".formatted(slot.rank(), slot.host(), process.pid());
    }
}

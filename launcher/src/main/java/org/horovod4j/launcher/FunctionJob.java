package org.horovod4j.launcher;

import org.horovod4j.codec.CodecException;
import org.horovod4j.codec.ObjectCodec;
import org.horovod4j.launcher.command.Invocation;
import org.horovod4j.launcher.function.LastReport;
import org.horovod4j.launcher.function.Ledger;
import org.horovod4j.launcher.plan.HostPlan;
import org.horovod4j.launcher.process.Signal;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/// One launch of a function, from the start of its processes to the list of its results.
///
/// @param ledger where the ranks' outcomes come in
/// @param report what the launcher says of the job
record FunctionJob(
        HorovodRun launcher,
        Invocation.Launch launch,
        JobSettings settings,
        HostPlan plan,
        Ledger ledger,
        LastReport report) {
    /// Runs the job, and returns when none of its processes is left.
    ///
    /// @return what the function returned, by rank
    List<@Nullable Object> run(ObjectCodec codec) {
        Interrupts interrupts = Interrupts.byHand();
        int exitCode = await(Soon.of(() -> start(interrupts)), interrupts);
        if (interrupts.hasCome()) {
            throw interrupted(null);
        }
        Ledger.Setback setback = ledger.firstSetback().orElse(null);
        if (setback != null) {
            throw exception(setback);
        }
        if (exitCode != 0) {
            throw new LaunchException(report.text());
        }
        return results(codec);
    }

    private int start(Interrupts interrupts) throws InterruptedException {
        try {
            return launcher.launch(launch, settings, EarlyEnd.by(interrupts), ledger::exited);
        } catch (IOException e) {
            if (interrupts.hasCome()) {
                throw interrupted(e);
            }
            throw new LaunchException(
                    "cannot start the job, all that was started is ended: " + e.getMessage(), e);
        }
    }

    private static LaunchException interrupted(@Nullable IOException cause) {
        return new LaunchException(
                "the thread that launched the job was interrupted; its processes are ended", cause);
    }

    /// Stays until the job has ended, also when this thread is interrupted: that ends the job.
    private static int await(Soon<Integer> job, Interrupts interrupts) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return job.get();
                } catch (InterruptedException e) {
                    interrupted = true;
                    interrupts.came(Signal.TERM);
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private LaunchException exception(Ledger.Setback setback) {
        return switch (setback) {
            case Ledger.Threw(int rank, var failure) ->
                    LaunchException.threw(rank, host(rank), failure);
            case Ledger.Died(int rank, String how) ->
                    LaunchException.died(rank, host(rank), how, details());
        };
    }

    /// A process that ends with 0 is no failure to the launcher, which then says nothing.
    private String details() {
        return report.text().isEmpty() ? "Does the function call System.exit?" : report.text();
    }

    private List<@Nullable Object> results(ObjectCodec codec) {
        List<@Nullable Object> results = new ArrayList<>();
        for (int rank = 0; rank < plan.slots().size(); rank++) {
            int number = rank;
            byte[] value =
                    ledger.value(rank)
                            .orElseThrow(
                                    () ->
                                            LaunchException.died(
                                                    number,
                                                    host(number),
                                                    "ended without a result",
                                                    details()));
            try {
                results.add(codec.decode(value));
            } catch (CodecException e) {
                throw new LaunchException(
                        "the result of rank %d on %s cannot be read: %s"
                                .formatted(rank, host(rank), e.getMessage()),
                        e);
            }
        }
        return results;
    }

    private String host(int rank) {
        return plan.slots().get(rank).host();
    }
}

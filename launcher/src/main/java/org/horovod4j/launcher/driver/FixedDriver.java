package org.horovod4j.launcher.driver;

import org.horovod4j.launcher.plan.HostPlan;
import org.horovod4j.launcher.plan.Slot;
import org.horovod4j.text.MessageText;
import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/// Decides for a job that starts all ranks once and ends when the first of them fails.
///
/// The number of a worker is its rank.
public final class FixedDriver implements Driver {
    private final Map<Integer, Worker> workers = new TreeMap<>();
    private final Map<Integer, Worker> live = new TreeMap<>();
    private final Map<Integer, Long> pids = new HashMap<>();

    /// Exits before the first signal. Later ones may be due to the signal.
    private final Map<Integer, DriverEvent.WorkerExited> exits = new HashMap<>();

    /// Ranks that other ranks could not continue without, and how they left.
    private final Map<Integer, String> missed = new HashMap<>();

    private final PendingActions actions = new PendingActions();
    private boolean isSignalSent;
    private DriverEvent.@Nullable FailureReported reported;
    private @Nullable Failure firstSeen;

    public FixedDriver(HostPlan plan) {
        for (Slot slot : plan.slots()) {
            workers.put(slot.rank(), new Worker(slot.rank(), slot.host(), slot.localRank()));
        }
        live.putAll(workers);
    }

    @Override
    public List<DriverAction> handle(DriverEvent event, Duration now) {
        switch (event) {
            case DriverEvent.JobStarted() ->
                    workers.values()
                            .forEach(worker -> actions.add(new DriverAction.StartWorker(worker)));
            case DriverEvent.WorkerStarted(int worker, long pid) -> pids.put(worker, pid);
            case DriverEvent.WorkerNotStarted(int worker, String reason) ->
                    notStarted(worker, reason);
            case DriverEvent.WorkerExited exited -> exited(exited);
            case DriverEvent.HostLost(String host, String reason) -> hostLost(host, reason);
            case DriverEvent.FailureReported failure -> reported(failure);
            case DriverEvent.RankMissed missing -> missed(missing);
            case DriverEvent.SignalSent() -> isSignalSent = true;
            case DriverEvent.HostsDiscovered _,
                    DriverEvent.HostOpened _,
                    DriverEvent.HostNotReady _,
                    DriverEvent.WorkerReady _,
                    DriverEvent.WorkerUnresponsive _,
                    DriverEvent.TimePassed _ -> {}
        }
        return actions.drain();
    }

    private void reported(DriverEvent.FailureReported failure) {
        if (firstSeen == null && reported == null) {
            reported = failure;
        }
    }

    private void missed(DriverEvent.RankMissed missing) {
        missed.putIfAbsent(missing.rank(), missing.reason());
        reported(new DriverEvent.FailureReported(missing.rank(), missing.reason()));
    }

    private void notStarted(int rank, String reason) {
        if (live.remove(rank) != null && !isSignalSent) {
            actions.add(new DriverAction.AbortStart(reason));
        }
    }

    private void exited(DriverEvent.WorkerExited exited) {
        Worker worker = live.remove(exited.worker());
        if (worker == null) {
            return; // its host was lost before
        }
        if (!isSignalSent) {
            exits.put(worker.number(), exited);
        }
        if (!exited.failed() || isSignalSent) {
            actions.verbose("%s: %s".formatted(name(worker), exited.description()));
            return;
        }
        failed(worker, exited.description());
        actions.info("%s failed: %s".formatted(name(worker), exited.description()));
    }

    private void hostLost(String host, String reason) {
        List<Worker> lost =
                live.values().stream().filter(worker -> worker.host().equals(host)).toList();
        if (lost.isEmpty()) {
            actions.verbose(
                    "lost contact with host %s; its processes had already exited".formatted(host));
            return;
        }
        lost.forEach(worker -> live.remove(worker.number()));
        if (!isSignalSent) {
            failed(lost.getFirst(), HOST_LOST);
        }
        actions.info(
                "lost contact with host %s (%s): %s Its processes there end by themselves."
                        .formatted(
                                host, Worker.numbers("rank", lost), MessageText.sentence(reason)));
    }

    private void failed(Worker worker, String reason) {
        if (firstSeen == null) {
            firstSeen = new Failure(worker, name(worker), reason);
            actions.add(new DriverAction.FailJob());
        }
    }

    private String name(Worker worker) {
        Long pid = pids.get(worker.number());
        return "rank %d on %s%s"
                .formatted(
                        worker.number(),
                        worker.host(),
                        pid == null ? "" : " (process %d)".formatted(pid));
    }

    @Override
    public boolean isOver() {
        return live.isEmpty();
    }

    /// The failure seen first, unless the ranks report that another rank failed before it. A rank
    /// that exited with 0 caused the failure only if other ranks missed it.
    @Override
    public Optional<Failure> failure() {
        Worker worker = reported == null ? null : workers.get(reported.rank());
        if (firstSeen == null || reported == null || worker == null) {
            return Optional.ofNullable(firstSeen);
        }
        String reason = reason(reported, exits.get(reported.rank()));
        return Optional.of(reason == null ? firstSeen : new Failure(worker, name(worker), reason));
    }

    /// Why the reported rank counts as the first failure; null if it does not.
    private @Nullable String reason(
            DriverEvent.FailureReported failure, DriverEvent.@Nullable WorkerExited exit) {
        if (exit == null) {
            return failure.reason();
        }
        String early = missed.get(failure.rank());
        if (exit.failed()) {
            return exit.description();
        }
        return early == null
                ? null
                : "%s while other ranks still needed it (%s)".formatted(exit.description(), early);
    }

    @Override
    public boolean replacesFailedWorkers() {
        return false;
    }
}

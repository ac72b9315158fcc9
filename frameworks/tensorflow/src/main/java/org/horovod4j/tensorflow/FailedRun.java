package org.horovod4j.tensorflow;

import org.horovod4j.Communicator;
import org.horovod4j.HorovodException;
import org.horovod4j.ProcessSet;
import org.horovod4j.tensorflow.kernel.Node;
import org.tensorflow.Graph;
import org.tensorflow.GraphOperation;
import org.tensorflow.Session;

import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.WeakHashMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;

/// A run of a graph that has failed on this rank. Other ranks may wait for its collectives, so they
/// must fail, too.
///
/// ```java
/// FailedRun failed = FailedRun.report(session, exception); // the runs of the other ranks fail
/// failed.await(); // until all ranks have reported theirs; then all may run the graph again
/// ```
///
/// A collective that this rank has submitted completes if all ranks have submitted it, and fails
/// otherwise. With asynchronous kernels these have ended when `run()` throws, since TensorFlow waits
/// for them; if it waits long, [RunCompletion] reports the failure. With blocking kernels some may be in flight until [#await] returns.
public final class FailedRun {
    /// The messages of TensorFlow may contain whole shapes and graphs.
    private static final int MAX_REASON = 1_000;

    private static final Executor NEW_VIRTUAL_THREAD =
            task -> Thread.ofVirtual().name("hvd-failed-run").start(task);

    /// Failures that were reported before `run()` has thrown; the program reports them later.
    private static final Map<Communicator, EarlyReport> EARLY_REPORTS =
            Collections.synchronizedMap(new WeakHashMap<>());

    /// @param node whose collective was in flight
    private record EarlyReport(String node, CompletableFuture<Void> end) {}

    private final List<CompletableFuture<Void>> ends;

    private FailedRun(List<CompletableFuture<Void>> ends) {
        this.ends = ends;
    }

    /// Starts to report the failure to all ranks that take part in collectives of the graph, and
    /// returns without waiting for them. Submit no collective before [#await] returns: it fails.
    public static FailedRun report(Session session, Throwable cause) {
        String message = String.valueOf(cause.getMessage());
        String reason =
                message.length() > MAX_REASON ? message.substring(0, MAX_REASON) + " …" : message;
        Collection<Communicator> communicators;
        try {
            communicators = communicators(session.graph());
        } catch (IllegalStateException e) { // this rank has left the job
            return new FailedRun(List.of(CompletableFuture.failedFuture(e)));
        }
        // at the same time: another rank may wait in any of them
        return new FailedRun(
                communicators.stream()
                        .map(
                                communicator ->
                                        Optional.ofNullable(EARLY_REPORTS.remove(communicator))
                                                .map(EarlyReport::end)
                                                .orElseGet(() -> failStep(communicator, reason)))
                        .toList());
    }

    private static CompletableFuture<Void> failStep(Communicator communicator, String reason) {
        return CompletableFuture.runAsync(() -> communicator.failStep(reason), NEW_VIRTUAL_THREAD);
    }

    /// Starts to report the failure of a run that has not ended on this rank, because it waits for a
    /// collective. A rank that has failed at another node waits for one of this rank.
    ///
    /// @param node that waits
    /// @param hasEnded whether it has ended meanwhile. Then the program reports the failure, so nothing is
    ///     reported here. The map is locked, so a report of the program waits until this one is in it.
    static void reportEarly(Communicator communicator, String node, BooleanSupplier hasEnded) {
        EARLY_REPORTS.compute(
                communicator,
                (_, before) ->
                        before != null || hasEnded.getAsBoolean()
                                ? before
                                : new EarlyReport(
                                        node,
                                        failStep(
                                                communicator,
                                                "a node of its graph failed, and it still waited for a collective")));
    }

    /// Called when a node starts. If its last run was reported early and the program has not reported the
    /// failure, it never will. Other nodes may be parts of other runs, such as a validation.
    static void dropFinishedReport(Communicator communicator, String node) {
        if (!EARLY_REPORTS.isEmpty()) {
            EARLY_REPORTS.computeIfPresent(
                    communicator,
                    (_, report) -> report.node.equals(node) && report.end.isDone() ? null : report);
        }
    }

    /// Waits until the run has failed on all ranks.
    ///
    /// @throws HorovodException when a rank is lost or has left the job
    public void await() {
        try {
            ends.forEach(CompletableFuture::join);
        } catch (CompletionException e) {
            if (e.getCause() instanceof RuntimeException failure) {
                throw failure;
            }
            throw e;
        }
    }

    /// Those of all collectives in the graph in which this rank takes part.
    private static Collection<Communicator> communicators(Graph graph) {
        Map<Integer, Communicator> byProcessSet = new LinkedHashMap<>();
        graph.operations()
                .forEachRemaining(
                        (GraphOperation node) ->
                                Node.functionOf(node)
                                        .map(CollectiveFunction.class::cast)
                                        .filter(CollectiveFunction::isCollective)
                                        .map(CollectiveFunction::ranks)
                                        .filter(FailedRun::takesPart)
                                        .map(RankGroup::communicator)
                                        .ifPresent(
                                                communicator ->
                                                        byProcessSet.put(
                                                                communicator.processSet().id(),
                                                                communicator)));
        return byProcessSet.values();
    }

    private static boolean takesPart(RankGroup ranks) {
        return ranks.processSet().map(ProcessSet::isIncluded).orElse(true);
    }
}

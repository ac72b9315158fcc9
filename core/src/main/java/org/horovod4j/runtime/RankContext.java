package org.horovod4j.runtime;

import org.horovod4j.Communicator;
import org.horovod4j.HorovodException;
import org.horovod4j.ProcessSet;
import org.horovod4j.ShutDownException;
import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.log.Log;
import org.horovod4j.option.FrameworkSettings;
import org.horovod4j.runtime.stall.StallInspector;
import org.horovod4j.runtime.stall.StateReport;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.util.Objects;

/// What the communicators of a rank have in common, and how the rank leaves its world, asked to or
/// not.
final class RankContext {
    private static final Logger LOG = Log.of(RankContext.class);

    private final RankComponents rankComponents;
    private final FailureHandler failureHandler;
    private final ProcessSets processSets;
    private final RankTracing rankTracing;
    private final StallInspector stalls;
    private @Nullable ProcessSet all;
    private volatile boolean closed;
    private Runnable closeAction = () -> {};

    RankContext(RankServices rankServices, RankTracing rankTracing, RankPlacement rankPlacement) {
        this.rankComponents = rankServices.rankComponents();
        this.failureHandler = rankServices.failureHandler();
        this.rankTracing = rankTracing;
        this.processSets =
                new ProcessSets(
                        rankServices,
                        (set, runtime, processSet) ->
                                new RankCommunicator(
                                        set, runtime, processSet, rankPlacement, this));
        this.stalls =
                new StallInspector(
                        rankComponents.rank(),
                        rankComponents.settings().stall(),
                        rankComponents.control(),
                        processSets::report,
                        story -> LOG.log(Level.WARNING, story),
                        this::abortStalledJob);
    }

    /// Begins to live: from here on operations can be submitted.
    void start() {
        // First, since ranks that are further on may ask.
        rankComponents.state().setReportSupplier(() -> processSets.report().encode());
        all = processSets.world(rankComponents.memory());
        rankTracing.begin();
        stalls.start();
    }

    Communicator communicator() {
        return Objects.requireNonNull(all, "started").communicator();
    }

    /// Ends the job because an operation waits for too long.
    private void abortStalledJob(String story) {
        failureHandler.leave(story);
        processSets.stop(new HorovodException(story));
        rankComponents.control().stop(); // whoever makes or removes a process set waits there
    }

    FrameworkSettings frameworkSettings() {
        return rankComponents.settings().framework();
    }

    ProcessSets processSets() {
        return processSets;
    }

    boolean isClosed() {
        return closed;
    }

    /// The story of the failure that ended this world; empty when there is none.
    String failure() {
        return rankComponents.state().failure();
    }

    Kernels kernels() {
        return rankComponents.kernels();
    }

    void checkOpen() {
        if (closed) {
            throw new ShutDownException("this rank has called shutdown and has no memory to share");
        }
    }

    void startTimeline(Path file, boolean markCycles) {
        rankTracing.start(file, markCycles);
    }

    void stopTimeline() {
        rankTracing.stop();
    }

    String describeState() {
        return StateReport.collect(rankComponents.control()).describe();
    }

    /// Leaves because the program says so. What is under way here fails; what others have completed
    /// with this rank stays good.
    void close() {
        leave(true, "called shutdown");
    }

    /// Leaves because the process ends, or because the rank failed.
    void abort(String reason) {
        leave(false, reason);
    }

    private synchronized void leave(boolean orderly, String reason) {
        if (closed) {
            return;
        }
        closed = true;
        stalls.close();
        HorovodException over =
                new ShutDownException(
                        "this rank has called shutdown; call init before further collectives");
        rankComponents.state().stop(over);
        rankComponents.control().stop();
        processSets.stop(over);
        rankComponents.control().leave(rankComponents.state().completed(), orderly, reason);
        rankComponents.control().close();
        processSets.close();
        rankComponents.linkTransport().close();
        rankTracing.close();
        closeAction.run();
    }

    /// Calls `action` when this rank has left its world.
    synchronized void onClose(Runnable action) {
        closeAction = action;
    }
}

package org.horovod4j.runtime;

import org.horovod4j.Communicator;
import org.horovod4j.HorovodException;
import org.horovod4j.ProcessSet;
import org.horovod4j.ShutDownException;
import org.horovod4j.log.Log;
import org.horovod4j.runtime.stall.StallInspector;
import org.horovod4j.runtime.stall.StateReport;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.util.Objects;

/// What the communicators of a rank have in common, and how the rank leaves its world, asked to or
/// not.
final class Surroundings {
    private static final Logger LOG = Log.of(Surroundings.class);

    private final Parts parts;
    private final Failures failures;
    private final ProcessSets processSets;
    private final Traces traces;
    private final StallInspector stalls;
    private @Nullable ProcessSet all;
    private volatile boolean closed;

    Surroundings(Common common, Traces traces, Standing standing) {
        this.parts = common.parts();
        this.failures = common.failures();
        this.traces = traces;
        this.processSets =
                new ProcessSets(
                        common,
                        (set, runtime, processSet) ->
                                new RankCommunicator(set, runtime, processSet, standing, this));
        this.stalls =
                new StallInspector(
                        parts.rank(),
                        parts.settings().stall(),
                        parts.control(),
                        processSets::report,
                        story -> LOG.log(Level.WARNING, story),
                        this::giveUp);
    }

    /// Begins to live: from here on operations can be submitted.
    void start() {
        // First, since ranks that are further on may ask.
        parts.state().describeBy(() -> processSets.report().encode());
        all = processSets.world(parts.memory());
        traces.begin();
        stalls.start();
    }

    Communicator communicator() {
        return Objects.requireNonNull(all, "started").communicator();
    }

    /// Ends the job because an operation waits for too long.
    private void giveUp(String story) {
        failures.leave(story);
        processSets.stop(new HorovodException(story));
        parts.control().stop(); // whoever makes or removes a process set waits there
    }

    ProcessSets processSets() {
        return processSets;
    }

    boolean isClosed() {
        return closed;
    }

    /// The story of the failure that ended this world; empty when there is none.
    String failure() {
        return parts.state().failure();
    }

    void checkOpen() {
        if (closed) {
            throw new ShutDownException("this rank has called shutdown and has no memory to share");
        }
    }

    void startTimeline(Path file, boolean markCycles) {
        traces.start(file, markCycles);
    }

    void stopTimeline() {
        traces.stop();
    }

    String describeState() {
        return StateReport.ask(parts.control()).describe();
    }

    /// Leaves because the program says so. What is under way here fails; what others have completed
    /// with this rank stays good.
    void close() {
        leave(true, "called shutdown");
    }

    /// Leaves because the process ends, or because the rank failed.
    void abandon(String reason) {
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
        parts.state().stop(over);
        parts.control().stop();
        processSets.stop(over);
        parts.control().leave(parts.state().completed(), orderly, reason);
        parts.control().close();
        processSets.close();
        parts.channels().close();
        traces.close();
    }
}

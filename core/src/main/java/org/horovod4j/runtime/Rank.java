package org.horovod4j.runtime;

import org.horovod4j.Communicator;
import org.horovod4j.HorovodException;
import org.horovod4j.ProcessSet;
import org.horovod4j.ShutDownException;
import org.horovod4j.elastic.registry.GenerationMembership;
import org.horovod4j.log.Log;
import org.horovod4j.option.RuntimeSettings;
import org.horovod4j.runtime.autotune.Autotuner;
import org.horovod4j.runtime.autotune.Knob;
import org.horovod4j.runtime.autotune.SearchSpace;
import org.horovod4j.runtime.device.RankDevices;
import org.horovod4j.runtime.stall.ProgramThread;
import org.horovod4j.runtime.stall.RankReport;
import org.horovod4j.runtime.stall.StallInspector;
import org.horovod4j.runtime.stall.StateReport;
import org.horovod4j.transport.CachedClock;
import org.horovod4j.transport.Topology;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.stream.Collectors;

/// A running rank: everything that its process sets share, and how it leaves the job.
public final class Rank implements AutoCloseable {
    private static final Logger LOG = Log.of(Rank.class);
    private static final Logger AUTOTUNE = Log.ofProgress(Autotuner.class);

    private final RankContext context;
    private final GenerationMembership membership;
    private final RankTracing tracing;
    private final RankDevices devices;
    private final @Nullable Autotuner autotuner;
    private final ProcessSets processSets;
    private final StallInspector stallInspector;
    private @Nullable ProcessSet allRanks;
    private volatile boolean closed;
    private Runnable closeAction = () -> {};

    private Rank(
            RankContext context, GenerationMembership membership, @Nullable Autotuner autotuner) {
        this.context = context;
        this.membership = membership;
        this.tracing = new RankTracing(context);
        this.autotuner = autotuner;
        this.devices =
                new RankDevices(context.deviceLibraries(), context.placement().local().rank());
        CachedClock clock = new CachedClock(context.clock());
        this.processSets =
                new ProcessSets(
                        context,
                        (set, channel, members, memory) ->
                                ProcessSetRuntime.start(
                                        context,
                                        clock,
                                        devices,
                                        tracing.recorder(),
                                        autotuner,
                                        set,
                                        channel,
                                        members,
                                        memory),
                        (set, runtime, processSet) ->
                                new RankCommunicator(set, runtime, processSet, this));
        this.stallInspector =
                new StallInspector(
                        context.rank(),
                        context.settings().stall(),
                        clock,
                        context.control(),
                        processSets::report,
                        warning -> LOG.log(Level.WARNING, warning),
                        this::abortStalledJob);
    }

    /// Starts a rank of a job that is not elastic.
    public static Rank start(RankContext context) {
        return start(context, new RankAssignment.StaticMembership(0), null);
    }

    /// Starts a rank. Returns when operations can be submitted.
    ///
    /// @param previousAutotuner the autotuner of the generation before, if this process had one
    static Rank start(
            RankContext context,
            GenerationMembership membership,
            @Nullable Autotuner previousAutotuner) {
        Rank rank = new Rank(context, membership, autotuner(context, previousAutotuner));
        rank.start();
        return rank;
    }

    private void start() {
        // First: ranks that have started already may request a report.
        context.state().setReportSupplier(this::encodedReport);
        if (LOG.isLoggable(Level.DEBUG)) {
            StartReport.of(context).lines().forEach(line -> LOG.log(Level.DEBUG, line));
        }
        allRanks = processSets.world(context.memory());
        tracing.begin();
        stallInspector.start();
    }

    /// The report for other ranks, with the threads of the program. If several ranks share a JVM, it
    /// is unknown which threads are whose.
    private byte[] encodedReport() {
        long jvm = context.members().get(context.rank()).jvm();
        long ranksOfJvm = context.members().stream().filter(member -> member.jvm() == jvm).count();
        RankReport report = processSets.report();
        return (ranksOfJvm == 1 ? report.with(ProgramThread.capture()) : report).encode();
    }

    /// Rank 0 tunes for all ranks. A result is kept when the number of ranks changes: a search
    /// after each change would cost more than it gains.
    private static @Nullable Autotuner autotuner(
            RankContext context, @Nullable Autotuner previous) {
        RuntimeSettings settings = context.settings();
        if (context.rank() > 0 || !settings.autotune().enabled()) {
            return null;
        }
        if (previous != null && previous.isDone()) {
            return previous;
        }
        Topology topology = context.topology();
        return new Autotuner(
                settings.autotune(),
                settings.tuning(),
                SearchSpace.of(topology.size(), topology.domains().size(), fixed(settings)),
                line -> AUTOTUNE.log(Level.INFO, line));
    }

    /// The knobs that the user has set.
    private static Set<Knob> fixed(RuntimeSettings settings) {
        return settings.fixed().stream().map(Knob::of).collect(Collectors.toUnmodifiableSet());
    }

    /// The communicator of all ranks.
    public Communicator communicator() {
        return Objects.requireNonNull(allRanks, "started").communicator();
    }

    public GenerationMembership membership() {
        return membership;
    }

    RankDevices devices() {
        return devices;
    }

    RankContext context() {
        return context;
    }

    @Nullable Autotuner autotuner() {
        return autotuner;
    }

    ProcessSets processSets() {
        return processSets;
    }

    /// Adds process sets at the start; see [Communicator#addProcessSet].
    ///
    /// @param ranks of each set
    public List<ProcessSet> addProcessSets(List<List<Integer>> ranks) {
        return processSets.add(ranks);
    }

    /// See [ProcessSets#addAgain].
    void addProcessSetsAgain(SortedMap<Integer, List<Integer>> former) {
        processSets.addAgain(former);
    }

    void startTimeline(Path file, boolean markCycles) {
        tracing.start(file, markCycles);
    }

    void stopTimeline() {
        tracing.stop();
    }

    String describeState() {
        return StateReport.collect(context.control()).describe();
    }

    /// The message of the failure that ended this rank's part in the job; empty without one.
    public String failure() {
        return context.state().failure();
    }

    /// Whether operations of this rank failed because another rank is gone.
    public boolean isBlocked() {
        return context.state().blockedBy().isPresent();
    }

    /// Whether this rank can run nothing more, but its process can join the next generation.
    public boolean canRejoin() {
        return membership.isElastic() && !failure().isEmpty();
    }

    /// Whether this rank has left the job, in order or by a failure.
    public boolean isClosed() {
        return closed;
    }

    void checkOpen() {
        if (closed) {
            throw new ShutDownException("this rank has called shutdown and has no memory to share");
        }
    }

    /// Ends the job because an operation has waited for too long.
    private void abortStalledJob(String reason) {
        context.failureHandler().leave(reason);
        processSets.stop(new HorovodException(reason));
        context.control().stop(); // ends a wait for a change of process sets
    }

    /// Leaves the job because the process ends. Threads of the program may still run, so the memory
    /// that they share with other ranks stays.
    public void exit(String reason) {
        leave(false, reason, true);
    }

    /// Leaves the job in order. Pending operations of this rank fail; operations that other ranks
    /// have completed with this rank keep their results.
    @Override
    public void close() {
        leave(true, "called shutdown", false);
    }

    /// Leaves the job as a failure, which the other ranks see with this reason.
    public void abort(String reason) {
        leave(false, reason, false);
    }

    private synchronized void leave(boolean orderly, String reason, boolean processEnds) {
        if (closed) {
            return;
        }
        closed = true;
        HorovodException shutDown =
                new ShutDownException(
                        orderly
                                ? "this rank has called shutdown; call init before further collectives"
                                : "this rank has left the job: " + reason);
        runAll(
                stallInspector::close,
                orderly ? processSets::drain : () -> {},
                () -> context.state().stop(shutDown),
                context.control()::stop,
                () -> processSets.stop(shutDown),
                () -> context.control().leave(context.state().completed(), orderly, reason),
                context.control()::close,
                processEnds ? () -> {} : processSets::close,
                processEnds ? () -> {} : devices::close,
                context.linkTransport()::close,
                tracing::close,
                closeAction);
    }

    /// Runs all actions, also if some fail, and throws the first failure at the end.
    private static void runAll(Runnable... actions) {
        RuntimeException first = null;
        for (Runnable action : actions) {
            try {
                action.run();
            } catch (RuntimeException e) {
                if (first == null) {
                    first = e;
                } else {
                    first.addSuppressed(e);
                }
            }
        }
        if (first != null) {
            throw first;
        }
    }

    /// Calls `action` after this rank has left the job.
    synchronized void onClose(Runnable action) {
        closeAction = action;
    }
}

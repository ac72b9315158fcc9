package org.horovod4j.runtime;

import org.horovod4j.ConfigurationException;
import org.horovod4j.DismissedException;
import org.horovod4j.PeerLostException;
import org.horovod4j.ProcessSet;
import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.log.Log;
import org.horovod4j.option.Environment;
import org.horovod4j.option.Options;
import org.horovod4j.option.ProcessIdentity;
import org.horovod4j.option.RendezvousSettings;
import org.horovod4j.option.RuntimeOptions;
import org.horovod4j.option.RuntimeOptions.StateSignal;
import org.horovod4j.option.RuntimeSettings;
import org.horovod4j.option.WorkerSettings;
import org.horovod4j.option.WorkerSettings.KernelChoice;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/// A process of a job. It joins one generation of the job after the other.
public final class HvdRuntime implements AutoCloseable {
    private static final Logger LOG = Log.of(HvdRuntime.class);

    private final WorkerSettings settings;
    private final boolean hasJvmHooks;
    private final Kernels kernels;
    private final StateSignalHandler stateSignalHandler;
    private final RankAssignment rankAssignment;
    private volatile @Nullable RendezvousEndpoint rendezvousEndpoint;
    private @Nullable Rank lastRank;

    /// The process sets of the first start. A later start in an elastic job names none, but meets
    /// ranks that are in their first start.
    private List<List<Integer>> initialProcessSets = List.of();

    /// Reads the options of a process.
    ///
    /// @param environment the variables of the process
    /// @throws ConfigurationException when an option is wrong
    public HvdRuntime(Map<String, String> environment) {
        this(new Environment(environment));
    }

    /// The process that a program describes by settings. An unknown setting is an error: the
    /// environment may have variables of other programs, a map of settings has none.
    ///
    /// @throws ConfigurationException when a setting is unknown or wrong
    public static HvdRuntime of(Map<String, String> settings) {
        Environment options = new Environment(settings);
        options.checkKnown();
        return new HvdRuntime(options);
    }

    private HvdRuntime(Environment options) {
        ProcessIdentity processIdentity = ProcessIdentity.from(options);
        Log.configure(
                RuntimeSettings.log(options),
                processIdentity.isAssigned() ? processIdentity.world().rank() : null);
        options.warnings().forEach(warning -> LOG.log(Level.WARNING, warning));
        this.settings = WorkerSettings.from(options);
        this.hasJvmHooks = options.get(RuntimeOptions.JVM_HOOKS);
        StateSignal stateSignal = options.get(RuntimeOptions.STATE_SIGNAL);
        this.stateSignalHandler =
                new StateSignalHandler(hasJvmHooks ? stateSignal : StateSignal.NONE);
        LOG.log(
                Level.INFO,
                "{0}, on {1}",
                settings.elastic() == null ? processIdentity : settings.elastic(),
                settings.host());
        this.kernels =
                settings.kernels() == KernelChoice.SCALAR ? Kernels.scalar() : Kernels.best();
        this.rankAssignment = RankAssignment.of(settings, new WorkerWarmUp(settings, kernels)::run);
    }

    /// Whether the process may get a handler of uncaught exceptions and a shutdown hook.
    public boolean hasJvmHooks() {
        return hasJvmHooks;
    }

    /// Joins the next generation of the job and returns when all ranks have.
    public Rank start() {
        return start(List.of());
    }

    /// Joins the job once: when the rank leaves, all connections of this object close.
    public Rank startOnly() {
        try {
            Rank rank = join(List.of());
            rank.onClose(this::close);
            return rank;
        } catch (RuntimeException | Error e) {
            close();
            throw e;
        }
    }

    /// Like [#start()], and adds process sets: these, or in an elastic job those that rank 0 had in
    /// the generation before. If a generation of an elastic job fails to start, it joins the next.
    ///
    /// @param processSets the ranks of each
    /// @throws DismissedException when there is no place for this process any more
    public Rank start(List<List<Integer>> processSets) {
        Rank rank = join(processSets);
        stateSignalHandler.watch(rank);
        return rank;
    }

    private Rank join(List<List<Integer>> processSets) {
        if (initialProcessSets.isEmpty()) {
            initialProcessSets = processSets.stream().map(List::copyOf).toList();
        }
        String why = lastRank == null ? "" : lastRank.failure();
        while (true) {
            RankAssignment.AssignedRank assignedRank = nextAssignment(why);
            try {
                Rank rank = join(assignedRank);
                addProcessSets(rank, processSets);
                lastRank = rank;
                return rank;
            } catch (PeerLostException e) {
                if (!assignedRank.membership().isElastic()) {
                    throw e;
                }
                why = String.valueOf(e.getMessage());
                LOG.log(
                        Level.INFO,
                        "generation {0} did not come about: {1}",
                        assignedRank.membership().generation(),
                        why);
            }
        }
    }

    private RankAssignment.AssignedRank nextAssignment(String why) {
        try {
            RankAssignment.AssignedRank assignedRank = rankAssignment.next(why);
            if (assignedRank.membership().isElastic()) {
                Log.configure(settings.runtime().log(), assignedRank.settings().rank());
                LOG.log(
                        Level.INFO,
                        "{0} is {1}",
                        settings.elastic(),
                        assignedRank.settings().processIdentity());
            }
            return assignedRank;
        } catch (DismissedException e) {
            LOG.log(
                    Level.WARNING,
                    "%s is dismissed: the job has no place for it any more: %s"
                            .formatted(settings.elastic(), e.getMessage()));
            throw e;
        }
    }

    /// Adds the process sets of a rank that has started.
    private void addProcessSets(Rank rank, List<List<Integer>> processSets) {
        try {
            if (rank.membership().generation() > 0 && rank.membership().isElastic()) {
                rank.addProcessSetsAgain(formerProcessSets(rank));
            } else if (!processSets.isEmpty()) {
                List<ProcessSet> _ = rank.addProcessSets(processSets);
            }
        } catch (RuntimeException e) {
            rank.abort("could not add its process sets: " + e.getMessage());
            throw e;
        }
    }

    /// The process sets of the last generation whose ranks exist in this one. Rank 0 sends them,
    /// because a new worker does not know them. If rank 0 was in no generation before, those that the
    /// program asks for.
    private SortedMap<Integer, List<Integer>> formerProcessSets(Rank rank) {
        Rank before = lastRank;
        Map<Integer, List<Integer>> known =
                before == null ? null : before.processSets().ranksById();
        Map<Integer, List<Integer>> told =
                rank.communicator().broadcastObject("elastic: process sets", known, 0);
        SortedMap<Integer, List<Integer>> possible =
                told == null ? numbered(initialProcessSets) : new TreeMap<>(told);
        int size = rank.communicator().size();
        possible.values().removeIf(ranks -> ranks.stream().anyMatch(each -> each >= size));
        return possible;
    }

    private static SortedMap<Integer, List<Integer>> numbered(List<List<Integer>> processSets) {
        SortedMap<Integer, List<Integer>> numbered = new TreeMap<>();
        processSets.forEach(ranks -> numbered.put(numbered.size() + 1, ranks));
        return numbered;
    }

    /// Closes the rendezvous server, if this process has one. The connection to an elastic launcher
    /// stays open, with its heartbeats, until the process has ended: other shutdown hooks may take
    /// long, and the launcher takes a process without that connection for one that hangs.
    public void onProcessExit() {
        closeRendezvous();
    }

    private void closeRendezvous() {
        RendezvousEndpoint opened = rendezvousEndpoint;
        if (opened != null) {
            opened.close();
        }
    }

    /// Closes the server and all connections, in a process that continues.
    @Override
    public void close() {
        closeRendezvous();
        rankAssignment.close();
    }

    private Rank join(RankAssignment.AssignedRank assignedRank) {
        RendezvousSettings rendezvousSettings = settings.rendezvousSettings();
        RankBootstrap rankBootstrap =
                new RankBootstrap(
                        assignedRank.settings(),
                        assignedRank.membership(),
                        kernels,
                        lastRank == null ? null : lastRank.autotuner());
        Rank rank =
                rendezvousSettings == null
                        ? rankBootstrap.startAlone()
                        : rankBootstrap.startWithOthers(() -> openRendezvous(rendezvousSettings));
        if (lastRank == null) {
            warnAboutScalarKernels(rank.context());
        }
        LOG.log(
                Level.DEBUG,
                () ->
                        "rank %d of %d on %s: %s"
                                .formatted(
                                        assignedRank.settings().rank(),
                                        assignedRank.settings().size(),
                                        settings.host(),
                                        kernels.description()));
        return rank;
    }

    /// Warns on the first rank of a host. A single rank has little to compute.
    private void warnAboutScalarKernels(RankContext context) {
        if (settings.kernels() == KernelChoice.AUTO
                && !kernels.usesVectors()
                && context.size() > 1
                && context.placement().local().rank() == 0) {
            LOG.log(
                    Level.WARNING,
                    "This JVM was started without the module jdk.incubator.vector, so reductions are slower. Start Java with --add-modules jdk.incubator.vector, as horovodrun does; or set %s to scalar."
                            .formatted(Options.KERNELS));
        }
    }

    private RendezvousEndpoint openRendezvous(RendezvousSettings rendezvousSettings) {
        RendezvousEndpoint point = rendezvousEndpoint;
        if (point == null) {
            point = RendezvousEndpoint.open(settings, rendezvousSettings);
            rendezvousEndpoint = point;
        }
        return point;
    }
}

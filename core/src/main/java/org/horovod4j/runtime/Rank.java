package org.horovod4j.runtime;

import org.horovod4j.Communicator;
import org.horovod4j.ProcessSet;
import org.horovod4j.elastic.registry.GenerationMembership;
import org.horovod4j.log.Log;
import org.horovod4j.option.RuntimeSettings;
import org.horovod4j.runtime.autotune.Autotuner;
import org.horovod4j.runtime.autotune.Knob;
import org.horovod4j.runtime.autotune.SearchSpace;
import org.horovod4j.transport.Topology;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.stream.Collectors;

/// A running rank: its parts put together.
public final class Rank implements AutoCloseable {
    private static final Logger AUTOTUNE = Log.ofProgress(Autotuner.class);

    private final RankContext context;
    private final GenerationMembership membership;
    private final @Nullable Autotuner autotuner;

    private Rank(
            RankContext context, GenerationMembership membership, @Nullable Autotuner autotuner) {
        this.context = context;
        this.membership = membership;
        this.autotuner = autotuner;
    }

    /// Puts the parts together, from the wire to the user's view of it.
    public static Rank of(RankComponents rankComponents) {
        return of(rankComponents, new RankAssignment.StaticMembership(0), null);
    }

    /// Like the other, for a generation that may have some before it.
    ///
    /// @param before the autotuner of the last, if it was this process's
    static Rank of(
            RankComponents rankComponents,
            GenerationMembership membership,
            @Nullable Autotuner before) {
        Topology topology = Topology.of(rankComponents.rank(), rankComponents.members());
        RankPlacement rankPlacement =
                RankPlacement.of(topology, rankComponents.local(), rankComponents.cross());
        RankTracing rankTracing = new RankTracing(rankComponents, topology);
        Autotuner autotuner = autotuner(rankComponents, topology, before);
        RankServices rankServices =
                new RankServices(
                        rankComponents,
                        rankTracing.recorder(),
                        new FailureHandler(rankComponents.state(), rankComponents.control()),
                        new AutotunerBinding(autotuner, rankComponents.settings().tuning()));
        RankContext world = new RankContext(rankServices, rankTracing, rankPlacement);
        world.start();
        return new Rank(world, membership, autotuner);
    }

    /// Rank 0 tunes, for all. A result is good enough for a world of another size: to search again
    /// whenever a worker comes or goes would cost more than it brings.
    private static @Nullable Autotuner autotuner(
            RankComponents rankComponents, Topology topology, @Nullable Autotuner before) {
        RuntimeSettings settings = rankComponents.settings();
        if (rankComponents.rank() > 0 || !settings.autotune().enabled()) {
            return null;
        }
        if (before != null && before.isDone()) {
            return before;
        }
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

    /// Whether it has left, in whatever way.
    public boolean isClosed() {
        return context.isClosed();
    }

    public GenerationMembership membership() {
        return membership;
    }

    /// The story of the failure that ended its world; empty when there is none.
    public String failure() {
        return context.failure();
    }

    /// Whether it can do no more, but its process may join the next generation.
    public boolean canRejoin() {
        return membership.isElastic() && !failure().isEmpty();
    }

    @Nullable Autotuner autotuner() {
        return autotuner;
    }

    /// The communicator of all ranks.
    public Communicator communicator() {
        return context.communicator();
    }

    /// Makes process sets at the start; see [Communicator#addProcessSet].
    ///
    /// @param ranks of each set
    public List<ProcessSet> addProcessSets(List<List<Integer>> ranks) {
        return context.processSets().add(ranks);
    }

    /// See [ProcessSets#rebuild].
    void rebuildProcessSets(SortedMap<Integer, List<Integer>> former) {
        context.processSets().rebuild(former);
    }

    /// The ranks of each process set by number, but for that of all ranks.
    SortedMap<Integer, List<Integer>> processSets() {
        return context.processSets().ranksById();
    }

    /// Calls `action` after this rank has left its world.
    void onClose(Runnable action) {
        context.onClose(action);
    }

    /// Leaves in an orderly way; see [Communicator#shutdown].
    @Override
    public void close() {
        context.close();
    }

    /// Leaves as a failure, which the other ranks hear of with this reason.
    public void abort(String reason) {
        context.abort(reason);
    }
}

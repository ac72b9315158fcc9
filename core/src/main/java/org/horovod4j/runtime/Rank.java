package org.horovod4j.runtime;

import org.horovod4j.Communicator;
import org.horovod4j.ProcessSet;
import org.horovod4j.log.Log;
import org.horovod4j.option.RuntimeSettings;
import org.horovod4j.runtime.autotune.Autotuner;
import org.horovod4j.runtime.autotune.Knob;
import org.horovod4j.runtime.autotune.Space;
import org.horovod4j.transport.Topology;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/// A running rank: its parts put together.
public final class Rank implements AutoCloseable {
    private static final Logger LOG = Log.of(Rank.class);

    private final Surroundings world;

    private Rank(Surroundings world) {
        this.world = world;
    }

    /// Puts the parts together, from the wire to the user's view of it.
    public static Rank of(Parts parts) {
        Topology topology = Topology.of(parts.rank(), parts.members());
        Standing standing = Standing.of(topology, parts.local(), parts.cross());
        Traces traces = new Traces(parts, topology);
        Common common =
                new Common(
                        parts,
                        traces.recorder(),
                        new Failures(parts.state(), parts.control()),
                        new Tuner(autotuner(parts, topology), parts.settings().tuning()));
        Surroundings world = new Surroundings(common, traces, standing);
        world.start();
        return new Rank(world);
    }

    /// Rank 0 tunes, for all.
    private static @Nullable Autotuner autotuner(Parts parts, Topology topology) {
        RuntimeSettings settings = parts.settings();
        if (parts.rank() > 0 || !settings.autotune().enabled()) {
            return null;
        }
        return new Autotuner(
                settings.autotune(),
                settings.tuning(),
                Space.of(topology.size(), topology.domains().size(), fixed(settings)),
                line -> LOG.log(Level.INFO, line));
    }

    /// The knobs that the user has set.
    private static Set<Knob> fixed(RuntimeSettings settings) {
        return settings.fixed().stream().map(Knob::of).collect(Collectors.toUnmodifiableSet());
    }

    /// Whether it has left, in whatever way.
    public boolean isClosed() {
        return world.isClosed();
    }

    /// The communicator of all ranks.
    public Communicator communicator() {
        return world.communicator();
    }

    /// Makes process sets at the start; see [Communicator#addProcessSet].
    ///
    /// @param ranks of each set
    public List<ProcessSet> addProcessSets(List<List<Integer>> ranks) {
        return world.processSets().add(ranks);
    }

    /// Leaves in an orderly way; see [Communicator#close].
    @Override
    public void close() {
        world.close();
    }

    /// Leaves as a failure, which the other ranks hear of with this reason.
    public void abandon(String reason) {
        world.abandon(reason);
    }
}

package org.horovod4j.runtime;

import org.horovod4j.Communicator;
import org.horovod4j.collectives.Across;
import org.horovod4j.collectives.AllreduceSelector;
import org.horovod4j.collectives.Calibration;
import org.horovod4j.collectives.CostModel;
import org.horovod4j.collectives.CpuBackend;
import org.horovod4j.option.Place;
import org.horovod4j.runtime.controller.Controller;
import org.horovod4j.runtime.cycle.OperationQueue;
import org.horovod4j.spi.Backend;
import org.horovod4j.transport.Neighbourhood;
import org.horovod4j.transport.Patience;
import org.horovod4j.transport.Topology;
import org.horovod4j.transport.Wire;
import org.jspecify.annotations.Nullable;

/// A running rank: its parts put together.
public final class Rank implements AutoCloseable {
    private final Communicator communicator;
    private final Lifecycle lifecycle;

    private Rank(Communicator communicator, Lifecycle lifecycle) {
        this.communicator = communicator;
        this.lifecycle = lifecycle;
    }

    /// Puts the parts together, from the wire to the user's view of it.
    public static Rank of(Parts parts) {
        Topology topology = Topology.of(parts.rank(), parts.members());
        boolean crowded = topology.localSize() > Runtime.getRuntime().availableProcessors();
        Patience patience = new Patience(parts.state(), parts.clock(), crowded);
        Neighbourhood near = new Neighbourhood(parts.memory(), patience);
        Wire wire = new Wire(parts.links(), patience);
        CostModel costs = measure(parts, topology, wire, near);
        AllreduceSelector selector = new AllreduceSelector(costs, parts.allreduce());
        Backend backend =
                new CpuBackend(near, new Across(topology, wire, selector), parts.kernels());
        Controller controller =
                new Controller(parts.state(), parts.control(), backend, parts.clock());
        OperationQueue queue = new OperationQueue("hvd-cycle-" + parts.rank());
        Lifecycle lifecycle = new Lifecycle(parts.state(), queue, parts.control(), backend);
        Place local = told(parts.local(), new Place(topology.localRank(), topology.localSize()));
        Place cross = told(parts.cross(), new Place(topology.crossRank(), topology.crossSize()));
        return new Rank(
                new RankCommunicator(topology, local, cross, queue, controller, lifecycle),
                lifecycle);
    }

    private static CostModel measure(
            Parts parts, Topology topology, Wire wire, Neighbourhood near) {
        try {
            return new Calibration(parts.clock(), parts.kernels()).run(topology, wire, near);
        } catch (RuntimeException | Error e) {
            wire.close();
            throw e;
        }
    }

    private static Place told(@Nullable Place told, Place found) {
        return told == null ? found : told;
    }

    /// Whether it has left, in whatever way.
    public boolean isClosed() {
        return lifecycle.isClosed();
    }

    public Communicator communicator() {
        return communicator;
    }

    /// Leaves in an orderly way; see [Communicator#close].
    @Override
    public void close() {
        lifecycle.close();
    }

    /// Leaves as a failure, which the other ranks hear of with this reason.
    public void abandon(String reason) {
        lifecycle.abandon(reason);
    }
}

package org.horovod4j.runtime;

import org.horovod4j.Communicator;
import org.horovod4j.collectives.Across;
import org.horovod4j.collectives.AllreduceSelector;
import org.horovod4j.collectives.Calibration;
import org.horovod4j.collectives.CostModel;
import org.horovod4j.collectives.CpuBackend;
import org.horovod4j.runtime.controller.Controller;
import org.horovod4j.runtime.cycle.OperationQueue;
import org.horovod4j.spi.Backend;
import org.horovod4j.transport.Neighbourhood;
import org.horovod4j.transport.Patience;
import org.horovod4j.transport.Topology;
import org.horovod4j.transport.Wire;

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
        CostModel costs = new Calibration(parts.clock(), parts.kernels()).run(topology, wire, near);
        AllreduceSelector selector = new AllreduceSelector(costs, parts.allreduce());
        Backend backend =
                new CpuBackend(near, new Across(topology, wire, selector), parts.kernels());
        Controller controller =
                new Controller(parts.state(), parts.control(), backend, parts.clock());
        OperationQueue queue = new OperationQueue("hvd-cycle-" + parts.rank());
        Lifecycle lifecycle = new Lifecycle(parts.state(), queue, parts.control(), backend);
        return new Rank(new RankCommunicator(topology, queue, controller, lifecycle), lifecycle);
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

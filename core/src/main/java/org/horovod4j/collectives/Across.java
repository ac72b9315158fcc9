package org.horovod4j.collectives;

import org.horovod4j.collectives.algorithm.Group;
import org.horovod4j.collectives.algorithm.Operands;
import org.horovod4j.collectives.algorithm.TreeAllreduce;
import org.horovod4j.spi.Tuning;
import org.horovod4j.transport.Topology;
import org.horovod4j.transport.Wire;

import java.util.List;

/// The other hosts, or rather the other memory domains, as this rank sees them.
///
/// Ranks at the same place in each domain form a group: those at place 0 are the leaders, and as
/// many places as the smallest domain has can work side by side.
public final class Across implements AutoCloseable {
    private final Topology topology;
    private final Wire wire;
    private final AllreduceSelector selector;
    private final Group parallel;

    public Across(Topology topology, Wire wire, AllreduceSelector selector) {
        this.topology = topology;
        this.wire = wire;
        this.selector = selector;
        this.parallel = parallel(topology, wire);
    }

    void begin(long stamp) {
        wire.begin(stamp);
    }

    int rank() {
        return topology.rank();
    }

    int worldSize() {
        return topology.size();
    }

    /// Whether all ranks share memory, so that there is nobody else.
    boolean isEmpty() {
        return topology.domains().size() == 1;
    }

    /// Whether no rank shares memory with another.
    boolean isEverybody() {
        return topology.domains().size() == topology.size();
    }

    List<List<Integer>> domains() {
        return topology.domains();
    }

    int domainIndex() {
        return topology.domainIndex();
    }

    Wire wire() {
        return wire;
    }

    /// How many places every domain has.
    int places() {
        return topology.smallestDomain();
    }

    /// The ranks at this rank's place in each domain that has it; the leaders' group at place 0.
    Group parallel() {
        return parallel;
    }

    /// Reduces `operands` over the ranks at this rank's place, to the end.
    void allreduce(Operands operands) {
        long bytes = operands.count() * operands.reduction().dataType().byteSize();
        selector.algorithm(parallel.size(), bytes).run(parallel, operands);
    }

    /// The most bytes that [#allreduce] reduces without a ring.
    long mostWithoutRing() {
        return selector.mostWithoutRing(topology.domains().size());
    }

    void tune(Tuning tuning) {
        selector.ringBytes(tuning.ringBytes());
        wire.useStreams(tuning.streams());
    }

    /// Returns when every rank at this rank's place has come here, with the same stamp.
    void agree() {
        new TreeAllreduce().run(parallel, Operands.NONE);
    }

    void reset() {
        wire.reset();
    }

    @Override
    public void close() {
        wire.close();
    }

    /// The ranks at the place of `topology`'s rank in each domain that has it.
    static Group parallel(Topology topology, Wire wire) {
        int place = topology.domain().indexOf(topology.rank());
        List<Integer> ranks =
                topology.domains().stream()
                        .filter(domain -> domain.size() > place)
                        .map(domain -> domain.get(place))
                        .toList();
        return new Group(wire, ranks, ranks.indexOf(topology.rank()));
    }
}

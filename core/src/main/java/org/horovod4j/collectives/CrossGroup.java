package org.horovod4j.collectives;

import org.horovod4j.collectives.algorithm.LinkGroup;
import org.horovod4j.collectives.algorithm.Operands;
import org.horovod4j.collectives.algorithm.TreeAllreduce;
import org.horovod4j.spi.Tuning;
import org.horovod4j.transport.PointToPoint;
import org.horovod4j.transport.Topology;

import java.util.List;

/// The other hosts, or rather the other memory domains, as this rank sees them.
///
/// Ranks at the same place in each domain form a group: those at place 0 are the leaders, and as
/// many places as the smallest domain has can work side by side.
public final class CrossGroup implements AutoCloseable {
    private final Topology topology;
    private final PointToPoint pointToPoint;
    private final AllreduceSelector selector;
    private final LinkGroup group;

    public CrossGroup(Topology topology, PointToPoint pointToPoint, AllreduceSelector selector) {
        this.topology = topology;
        this.pointToPoint = pointToPoint;
        this.selector = selector;
        this.group = group(topology, pointToPoint);
    }

    void begin(long stamp) {
        pointToPoint.begin(stamp);
    }

    int rank() {
        return topology.rank();
    }

    int size() {
        return topology.size();
    }

    /// Whether all ranks share memory, so that there is nobody else.
    boolean isSingleDomain() {
        return topology.domains().size() == 1;
    }

    /// Whether no rank shares memory with another.
    boolean hasOneRankPerDomain() {
        return topology.domains().size() == topology.size();
    }

    List<List<Integer>> domains() {
        return topology.domains();
    }

    int domainIndex() {
        return topology.domainIndex();
    }

    PointToPoint pointToPoint() {
        return pointToPoint;
    }

    /// How many places every domain has.
    int smallestDomainSize() {
        return topology.smallestDomainSize();
    }

    /// The ranks at this rank's place in each domain that has it; the leaders' group at place 0.
    LinkGroup group() {
        return group;
    }

    /// Reduces `operands` over the ranks at this rank's place, to the end.
    void allreduce(Operands operands) {
        long bytes = operands.count() * operands.scaledReduction().dataType().byteSize();
        selector.algorithm(group.size(), bytes).run(group, operands);
    }

    /// The most bytes that [#allreduce] reduces without a ring.
    long maxBytesWithoutRing() {
        return selector.maxBytesWithoutRing(topology.domains().size());
    }

    void tune(Tuning tuning) {
        selector.ringBytes(tuning.ringBytes());
        pointToPoint.useStreams(tuning.streams());
    }

    /// Returns when every rank at this rank's place has come here, with the same stamp.
    void barrier() {
        new TreeAllreduce().run(group, Operands.NONE);
    }

    void reset() {
        pointToPoint.reset();
    }

    @Override
    public void close() {
        pointToPoint.close();
    }

    /// The ranks at the place of `topology`'s rank in each domain that has it.
    static LinkGroup group(Topology topology, PointToPoint pointToPoint) {
        int place = topology.domain().indexOf(topology.rank());
        List<Integer> ranks =
                topology.domains().stream()
                        .filter(domain -> domain.size() > place)
                        .map(domain -> domain.get(place))
                        .toList();
        return new LinkGroup(pointToPoint, ranks, ranks.indexOf(topology.rank()));
    }
}

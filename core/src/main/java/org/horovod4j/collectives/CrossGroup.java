package org.horovod4j.collectives;

import org.horovod4j.collectives.algorithm.LinkGroup;
import org.horovod4j.collectives.algorithm.Operands;
import org.horovod4j.collectives.algorithm.StagedAllreduce;
import org.horovod4j.collectives.algorithm.TreeAllreduce;
import org.horovod4j.spi.Tuning;
import org.horovod4j.transport.PointToPoint;
import org.horovod4j.transport.Topology;

import java.util.List;

/// The other hosts, more precisely the other memory domains, as seen from this rank.
///
/// The ranks with the same index in each domain form a group. The group at index 0 consists of the
/// first ranks. As many groups as the smallest domain has ranks span all domains and can work in
/// parallel.
public final class CrossGroup implements StagedAllreduce.CrossReducer, AutoCloseable {
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

    /// Whether all ranks share memory, so that there are no other domains.
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

    /// The number of groups that span all domains.
    int smallestDomainSize() {
        return topology.smallestDomainSize();
    }

    /// The ranks with this rank's index in their domain.
    LinkGroup group() {
        return group;
    }

    /// Starts to reduce `operands` over [#group], including division and scaling.
    @Override
    public long start(Operands operands) {
        long bytes = operands.count() * operands.reduction().dataType().byteSize();
        selector.algorithm(group.size(), bytes).start(group, operands);
        return pointToPoint.started();
    }

    @Override
    public void await(long started) {
        pointToPoint.await(started);
    }

    /// The algorithms of [#start], by size.
    String describeAllreduce() {
        return selector.describe(group.size());
    }

    /// The largest size that [#start] reduces without a ring.
    long maxBytesWithoutRing() {
        return selector.maxBytesWithoutRing(topology.domains().size());
    }

    void tune(Tuning tuning) {
        selector.ringBytes(tuning.ringBytes());
        pointToPoint.useStreams(tuning.streams());
    }

    /// Returns when every rank of [#group] has called this with the same stamp.
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

    /// The ranks with the same index in their domain as the rank of `topology`.
    static LinkGroup group(Topology topology, PointToPoint pointToPoint) {
        int index = topology.domain().indexOf(topology.rank());
        List<Integer> ranks =
                topology.domains().stream()
                        .filter(domain -> domain.size() > index)
                        .map(domain -> domain.get(index))
                        .toList();
        return new LinkGroup(pointToPoint, ranks, ranks.indexOf(topology.rank()));
    }
}

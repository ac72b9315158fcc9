package org.horovod4j.collectives;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.collectives.algorithm.DoublingAllreduce;
import org.horovod4j.collectives.algorithm.LinkGroup;
import org.horovod4j.collectives.algorithm.Operands;
import org.horovod4j.collectives.algorithm.ScaledReduction;
import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.transport.Clock;
import org.horovod4j.transport.LocalGroup;
import org.horovod4j.transport.MessageSink;
import org.horovod4j.transport.PointToPoint;
import org.horovod4j.transport.Topology;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/// Measures the links between hosts when a world starts, so that all ranks choose algorithms by the
/// same [CostModel].
///
/// The leaders pass a few empty messages round a ring and a few of some size, without arithmetic,
/// whose first runs say nothing about later ones. The largest figures of any leader count, and each
/// leader tells its own host.
public final class LinkCalibration {
    private static final long STAMP = 0x63616c6962726174L;
    private static final int REPEATS = 8;
    private static final long BYTES = 256 * 1024;
    private static final ValueLayout.OfDouble DOUBLE = ValueLayout.JAVA_DOUBLE_UNALIGNED;

    private final Clock clock;
    private final Kernels kernels;

    public LinkCalibration(Clock clock, Kernels kernels) {
        this.clock = clock;
        this.kernels = kernels;
    }

    /// The costs of this world; every rank calls this once, before any operation.
    public CostModel run(Topology topology, PointToPoint pointToPoint, LocalGroup near) {
        if (topology.domains().size() == 1) {
            return CostModel.DEFAULT;
        }
        pointToPoint.begin(STAMP);
        if (near.index() == 0) {
            CostModel measured = measure(CrossGroup.group(topology, pointToPoint));
            MemorySegment mine = near.region(0);
            mine.set(DOUBLE, near.nextPayloadOffset(), measured.latencyNanos());
            mine.set(DOUBLE, near.nextPayloadOffset() + Double.BYTES, measured.nanosPerByte());
        }
        near.barrier(STAMP);
        MemorySegment leaders = near.region(0);
        return new CostModel(
                leaders.get(DOUBLE, near.payloadOffset()),
                leaders.get(DOUBLE, near.payloadOffset() + Double.BYTES));
    }

    private CostModel measure(LinkGroup leaders) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = arena.allocate(2 * BYTES, 64);
            double latency = fastest(leaders, memory, 0);
            double perByte = Math.max(fastest(leaders, memory, BYTES) - latency, 1) / BYTES;
            MemorySegment figures = arena.allocate(2L * Double.BYTES, 64);
            figures.set(DOUBLE, 0, latency);
            figures.set(DOUBLE, Double.BYTES, perByte);
            new DoublingAllreduce().run(leaders, largest(figures));
            return new CostModel(figures.get(DOUBLE, 0), figures.get(DOUBLE, Double.BYTES));
        }
    }

    private double fastest(LinkGroup leaders, MemorySegment memory, long bytes) {
        int right = (leaders.index() + 1) % leaders.size();
        int left = Math.floorMod(leaders.index() - 1, leaders.size());
        long best = Long.MAX_VALUE;
        for (int repeat = 0; repeat < REPEATS; repeat++) {
            long start = clock.nanoTime();
            leaders.exchange(right, memory, 0, bytes, left, MessageSink.into(memory, BYTES, bytes));
            best = Math.min(best, clock.nanoTime() - start);
        }
        return best;
    }

    private Operands largest(MemorySegment figures) {
        return new ScaledReduction(kernels, DataType.FLOAT64, ReduceOp.MAX, Scale.NONE, 1)
                .operands(figures, 0, 2);
    }
}

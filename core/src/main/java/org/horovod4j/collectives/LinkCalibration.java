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

/// Measures the links between hosts when a world starts, so that all ranks select algorithms by the
/// same [CostModel].
///
/// The first rank of each host sends empty and larger messages around a ring, without arithmetic,
/// because the first runs of a kernel are not representative. The largest latency and the largest
/// cost per byte of any host are used. They are shared with the other ranks of each host.
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

    /// Measures the costs of this world. Every rank calls this once, before any collective.
    public CostModel run(Topology topology, PointToPoint pointToPoint, LocalGroup local) {
        if (topology.domains().size() == 1) {
            return CostModel.DEFAULT;
        }
        pointToPoint.begin(STAMP);
        if (local.index() == 0) {
            CostModel measured = measure(CrossGroup.group(topology, pointToPoint));
            MemorySegment mine = local.region(0);
            mine.set(DOUBLE, local.nextPayloadOffset(), measured.latencyNanos());
            mine.set(DOUBLE, local.nextPayloadOffset() + Double.BYTES, measured.nanosPerByte());
        }
        local.barrier(STAMP);
        MemorySegment leaders = local.region(0);
        return new CostModel(
                leaders.get(DOUBLE, local.payloadOffset()),
                leaders.get(DOUBLE, local.payloadOffset() + Double.BYTES));
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

package org.horovod4j.collectives;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.collectives.algorithm.DoublingAllreduce;
import org.horovod4j.collectives.algorithm.Group;
import org.horovod4j.collectives.algorithm.Operands;
import org.horovod4j.collectives.algorithm.Reduction;
import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.transport.Clock;
import org.horovod4j.transport.Neighbourhood;
import org.horovod4j.transport.Sink;
import org.horovod4j.transport.Topology;
import org.horovod4j.transport.Wire;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/// Measures the links between hosts when a world starts, so that all ranks choose algorithms by the
/// same [CostModel].
///
/// The leaders pass a few empty messages round a ring and a few of some size, without arithmetic,
/// whose first runs say nothing about later ones. The largest figures of any leader count, and each
/// leader tells its own host.
public final class Calibration {
    private static final long STAMP = 0x63616c6962726174L;
    private static final int REPEATS = 8;
    private static final long BYTES = 256 * 1024;
    private static final ValueLayout.OfDouble DOUBLE = ValueLayout.JAVA_DOUBLE_UNALIGNED;

    private final Clock clock;
    private final Kernels kernels;

    public Calibration(Clock clock, Kernels kernels) {
        this.clock = clock;
        this.kernels = kernels;
    }

    /// The costs of this world; every rank calls this once, before any operation.
    public CostModel run(Topology topology, Wire wire, Neighbourhood near) {
        if (topology.domains().size() == 1) {
            return CostModel.DEFAULT;
        }
        wire.begin(STAMP);
        if (near.index() == 0) {
            CostModel measured = measure(Across.parallel(topology, wire));
            MemorySegment mine = near.region(0);
            mine.set(DOUBLE, near.nextPayload(), measured.latencyNanos());
            mine.set(DOUBLE, near.nextPayload() + Double.BYTES, measured.nanosPerByte());
        }
        near.meet(STAMP);
        MemorySegment leaders = near.region(0);
        return new CostModel(
                leaders.get(DOUBLE, near.payload()),
                leaders.get(DOUBLE, near.payload() + Double.BYTES));
    }

    private CostModel measure(Group leaders) {
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

    private double fastest(Group leaders, MemorySegment memory, long bytes) {
        int right = (leaders.index() + 1) % leaders.size();
        int left = Math.floorMod(leaders.index() - 1, leaders.size());
        long best = Long.MAX_VALUE;
        for (int repeat = 0; repeat < REPEATS; repeat++) {
            long start = clock.nanoTime();
            leaders.exchange(right, memory, 0, bytes, left, Sink.into(memory, BYTES, bytes));
            best = Math.min(best, clock.nanoTime() - start);
        }
        return best;
    }

    private Operands largest(MemorySegment figures) {
        return new Reduction(kernels, DataType.FLOAT64, ReduceOp.MAX, Scale.NONE, 1)
                .operands(figures, 0, 2);
    }
}

package org.horovod4j.collectives;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.collectives.BackendWorld.Config;
import org.horovod4j.collectives.FusionCase.Memory;
import org.horovod4j.spi.CancellableBackend;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.testing.Layout;
import org.horovod4j.testing.World.Transport;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/// The same fused tensors are reduced repeatedly, in the same memory or in new memory. Cached
/// locations are used exactly if they are valid on all ranks.
class SharedTensorLocatorTest {
    private static final List<Shape> SHAPES =
            List.of(Shape.of(3_001), Shape.of(0), Shape.of(40_009), Shape.of(700));

    static Stream<Layout> oneHost() {
        return Stream.of(
                new Layout(2, 1, Transport.LOCAL),
                new Layout(3, 1, Transport.LOCAL),
                new Layout(5, 1, Transport.SHM));
    }

    /// A rank with fused tensors that it keeps from step to step.
    private static final class RepeatedAllreduce {
        private final FusionCase tensors;
        private final int rank;
        private final CancellableBackend backend;
        private final FusedTensors fusedTensors;
        private List<Tensor> memory = new ArrayList<>();
        private long stamp;

        RepeatedAllreduce(FusionCase tensors, int rank, CancellableBackend backend) {
            this.tensors = tensors;
            this.rank = rank;
            this.backend = backend;
            this.fusedTensors = tensors.fusedTensors();
        }

        /// Reduces in new memory.
        void reduceInNewMemory(Memory kind) {
            memory = tensors.copies(rank, backend, kind);
            reduce();
        }

        /// Reduces in the memory of the previous step.
        void reduceInSameMemory() {
            for (int i = 0; i < memory.size(); i++) {
                memory.get(i).segment().copyFrom(tensors.inputs().get(i).get(rank).segment());
            }
            reduce();
        }

        private void reduce() {
            FusionCase.set(fusedTensors, memory, memory);
            stamp++;
            backend.allreduce(stamp, fusedTensors, tensors.op(), tensors.scale(), 1);
            tensors.check(memory);
            fusedTensors.clear();
        }
    }

    private static FusionCase tensors(Layout layout) {
        Scale scale = new Scale(2, 0.25);
        return FusionCase.of(layout.size(), DataType.FLOAT32, SHAPES, ReduceOp.SUM, scale);
    }

    @ParameterizedTest
    @MethodSource("oneHost")
    void anyRankMayChangeMemoryBetweenSteps(Layout layout) {
        FusionCase tensors = tensors(layout);
        BackendWorld.run(
                layout,
                (rank, backend) -> {
                    RepeatedAllreduce repeatedAllreduce =
                            new RepeatedAllreduce(tensors, rank, backend);
                    repeatedAllreduce.reduceInNewMemory(Memory.SHARED);
                    repeatedAllreduce.reduceInSameMemory();
                    repeatedAllreduce.reduceInSameMemory();
                    repeatedAllreduce.reduceInNewMemory(Memory.SHARED);
                    repeatedAllreduce.reduceInSameMemory();
                    for (int mover = 0; mover < layout.size(); mover++) {
                        if (rank == mover) {
                            repeatedAllreduce.reduceInNewMemory(Memory.SHARED);
                        } else {
                            repeatedAllreduce.reduceInSameMemory();
                        }
                    }
                    repeatedAllreduce.reduceInSameMemory();
                });
    }

    @ParameterizedTest
    @MethodSource("oneHost")
    void oneRankWithoutSharedMemoryMakesAllRanksCopy(Layout layout) {
        FusionCase tensors = tensors(layout);
        BackendWorld.run(
                layout,
                (rank, backend) -> {
                    RepeatedAllreduce repeatedAllreduce =
                            new RepeatedAllreduce(tensors, rank, backend);
                    boolean last = rank == layout.size() - 1;
                    repeatedAllreduce.reduceInNewMemory(last ? Memory.NATIVE : Memory.SHARED);
                    repeatedAllreduce.reduceInSameMemory();
                    if (last) {
                        repeatedAllreduce.reduceInNewMemory(Memory.SHARED);
                    } else {
                        repeatedAllreduce.reduceInSameMemory();
                    }
                    repeatedAllreduce.reduceInSameMemory();
                    if (last) {
                        repeatedAllreduce.reduceInNewMemory(Memory.MIXED);
                    } else {
                        repeatedAllreduce.reduceInSameMemory();
                    }
                });
    }

    @ParameterizedTest
    @MethodSource("oneHost")
    void resetClearsAllCachedLocations(Layout layout) {
        FusionCase tensors = tensors(layout);
        try (BackendWorld world = Config.of(layout).open()) {
            List<List<RepeatedAllreduce>> ranks =
                    world.call(
                            (rank, backend) -> {
                                List<RepeatedAllreduce> allreduces =
                                        List.of(
                                                new RepeatedAllreduce(tensors, rank, backend),
                                                new RepeatedAllreduce(tensors, rank, backend));
                                allreduces.forEach(each -> each.reduceInNewMemory(Memory.SHARED));
                                allreduces
                                        .reversed()
                                        .forEach(RepeatedAllreduce::reduceInSameMemory);
                                return allreduces;
                            });
            world.reset();
            world.run((rank, _) -> ranks.get(rank).forEach(RepeatedAllreduce::reduceInSameMemory));
        }
    }

    @ParameterizedTest
    @MethodSource("oneHost")
    void isSharedOnlyForSharedMemory(Layout layout) {
        FusionCase tensors = tensors(layout);
        BackendWorld.run(
                layout,
                (rank, backend) -> {
                    assertThat(tensors.copies(rank, backend, Memory.SHARED))
                            .allMatch(backend::isShared);
                    assertThat(tensors.copies(rank, backend, Memory.NATIVE))
                            .noneMatch(backend::isShared);
                    assertThat(tensors.copies(rank, backend, Memory.HEAP))
                            .noneMatch(backend::isShared);
                });
    }
}

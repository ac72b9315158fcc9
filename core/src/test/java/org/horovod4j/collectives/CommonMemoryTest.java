package org.horovod4j.collectives;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.collectives.BackendWorld.Plan;
import org.horovod4j.collectives.FusedTensors.Memory;
import org.horovod4j.spi.Backend;
import org.horovod4j.spi.Bundle;
import org.horovod4j.testing.Layout;
import org.horovod4j.testing.World.Transport;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/// A bundle that comes again and again, in the memory of the time before or in another: its ranks
/// go by what they remember exactly when all of them can.
class CommonMemoryTest {
    private static final List<Shape> SHAPES =
            List.of(Shape.of(3_001), Shape.of(0), Shape.of(40_009), Shape.of(700));

    static Stream<Layout> oneHost() {
        return Stream.of(
                new Layout(2, 1, Transport.LOCAL),
                new Layout(3, 1, Transport.LOCAL),
                new Layout(5, 1, Transport.SHM));
    }

    /// A rank with a bundle that it keeps from step to step.
    private static final class Steps {
        private final FusedTensors tensors;
        private final int rank;
        private final Backend backend;
        private final Bundle bundle;
        private List<Tensor> memory = new ArrayList<>();
        private long stamp;

        Steps(FusedTensors tensors, int rank, Backend backend) {
            this.tensors = tensors;
            this.rank = rank;
            this.backend = backend;
            this.bundle = tensors.bundle();
        }

        /// Reduces in new memory.
        void moveTo(Memory kind) {
            memory = tensors.copies(rank, backend, kind);
            reduce();
        }

        /// Reduces in the memory of the step before.
        void stay() {
            for (int i = 0; i < memory.size(); i++) {
                memory.get(i).segment().copyFrom(tensors.inputs().get(i).get(rank).segment());
            }
            reduce();
        }

        private void reduce() {
            FusedTensors.set(bundle, memory, memory);
            stamp++;
            backend.allreduce(stamp, bundle, tensors.op(), tensors.scale(), 1);
            tensors.check(memory);
            bundle.clear();
        }
    }

    private static FusedTensors tensors(Layout layout) {
        Scale scale = new Scale(2, 0.25);
        return FusedTensors.of(layout.size(), DataType.FLOAT32, SHAPES, ReduceOp.SUM, scale);
    }

    @ParameterizedTest
    @MethodSource("oneHost")
    void memoryMayStayOrChangeOnAnyRankFromStepToStep(Layout layout) {
        FusedTensors tensors = tensors(layout);
        BackendWorld.run(
                layout,
                (rank, backend) -> {
                    Steps steps = new Steps(tensors, rank, backend);
                    steps.moveTo(Memory.SHARED);
                    steps.stay();
                    steps.stay();
                    steps.moveTo(Memory.SHARED);
                    steps.stay();
                    for (int mover = 0; mover < layout.size(); mover++) {
                        if (rank == mover) {
                            steps.moveTo(Memory.SHARED);
                        } else {
                            steps.stay();
                        }
                    }
                    steps.stay();
                });
    }

    @ParameterizedTest
    @MethodSource("oneHost")
    void oneRankWithoutSharedMemoryMakesAllCopyAndTheOthersAreFoundAgain(Layout layout) {
        FusedTensors tensors = tensors(layout);
        BackendWorld.run(
                layout,
                (rank, backend) -> {
                    Steps steps = new Steps(tensors, rank, backend);
                    boolean last = rank == layout.size() - 1;
                    steps.moveTo(last ? Memory.NATIVE : Memory.SHARED);
                    steps.stay();
                    if (last) {
                        steps.moveTo(Memory.SHARED);
                    } else {
                        steps.stay();
                    }
                    steps.stay();
                    if (last) {
                        steps.moveTo(Memory.MIXED);
                    } else {
                        steps.stay();
                    }
                });
    }

    @ParameterizedTest
    @MethodSource("oneHost")
    void severalBundlesAreRememberedAndAllForgottenByAReset(Layout layout) {
        FusedTensors tensors = tensors(layout);
        try (BackendWorld world = Plan.of(layout).open()) {
            List<List<Steps>> ranks =
                    world.call(
                            (rank, backend) -> {
                                List<Steps> bundles =
                                        List.of(
                                                new Steps(tensors, rank, backend),
                                                new Steps(tensors, rank, backend));
                                bundles.forEach(each -> each.moveTo(Memory.SHARED));
                                bundles.reversed().forEach(Steps::stay);
                                return bundles;
                            });
            world.reset();
            world.run((rank, _) -> ranks.get(rank).forEach(Steps::stay));
        }
    }

    @ParameterizedTest
    @MethodSource("oneHost")
    void sharedMemoryIsToldFromOther(Layout layout) {
        FusedTensors tensors = tensors(layout);
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

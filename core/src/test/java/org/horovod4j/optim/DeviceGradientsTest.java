package org.horovod4j.optim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.horovod4j.testing.DeviceWorlds.hostValues;
import static org.horovod4j.testing.DeviceWorlds.launch;
import static org.horovod4j.testing.DeviceWorlds.onDevice;
import static org.horovod4j.testing.DeviceWorlds.read;
import static org.horovod4j.testing.DeviceWorlds.write;

import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.DeviceStream;
import org.horovod4j.Shape;
import org.horovod4j.SparseResult;
import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;
import org.horovod4j.testing.DeviceWorlds;
import org.horovod4j.testing.FakeBackendProvider;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;

/// Gradients on a fake device, two parameters with two rows of one number each.
class DeviceGradientsTest {
    private static final int DENSE = 0;
    private static final int SPARSE = 1;
    private static final Shape SHAPE = Shape.of(2, 1);

    private final FakeBackendProvider fake = new FakeBackendProvider("FAKE");

    /// Gradients of a framework that launches what it computes on one stream.
    private static final class FakeFramework implements SparseGradients {
        final DeviceStream stream;
        final Tensor[] memory = new Tensor[2];
        final Communicator comm;
        private final Gradient[] reduced = new Gradient[2];
        private @Nullable SparseTensor rows;

        FakeFramework(Communicator comm) {
            this.comm = comm;
            this.stream = DeviceWorlds.stream(comm);
            for (int i = 0; i < memory.length; i++) {
                memory[i] = onDevice(comm, Tensor.zeros(DataType.FLOAT32, SHAPE));
            }
        }

        void compute(int parameter, float... values) {
            launch(stream, () -> write(memory[parameter], values));
        }

        /// The second parameter gets a row instead of a dense gradient.
        void computeRow(long row, float value) {
            rows =
                    new SparseTensor(
                            Tensor.of(new long[] {row}),
                            Tensor.of(new float[] {value}, 1, 1),
                            SHAPE);
        }

        float[] reduced(int parameter) {
            return switch (reduced[parameter]) {
                case Gradient.Dense(Tensor tensor) when tensor.device().isHost() ->
                        tensor.toFloatArray();
                case Gradient.Dense(Tensor tensor) -> hostValues(comm, tensor.readyOn(stream));
                case Gradient.Sparse(SparseTensor sparse) ->
                        new SparseResult.Rows(sparse).toDense().toFloatArray();
            };
        }

        @Override
        public List<String> names() {
            return List.of("dense", "sparse");
        }

        @Override
        public boolean isTrainable(int parameter) {
            return true;
        }

        @Override
        public GradientLayout layout(int parameter) {
            return parameter == SPARSE && rows != null
                    ? GradientLayout.SPARSE
                    : GradientLayout.DENSE;
        }

        @Override
        public SparseTensor acquireEmpty(int parameter) {
            throw new AssertionError("every rank has a gradient");
        }

        @Override
        public Gradient acquire(int parameter) {
            return parameter == SPARSE && rows != null
                    ? new Gradient.Sparse(rows)
                    : new Gradient.Dense(memory[parameter].readyOn(stream));
        }

        @Override
        public void setReduced(int parameter, Gradient gradient) {
            reduced[parameter] = gradient;
        }

        @Override
        public Optional<DeviceStream> stream() {
            return Optional.of(stream);
        }

        @Override
        public void scale(Tensor gradient, double factor) {
            launch(
                    stream,
                    () -> {
                        float[] values = read(gradient);
                        write(gradient, (float) (values[0] * factor), (float) (values[1] * factor));
                    });
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void stepReturnsBeforeTheDeviceHasComputedGradients() {
        DeviceWorlds.of(2, fake)
                .run(
                        comm -> {
                            FakeFramework framework = new FakeFramework(comm);
                            CountDownLatch backward = new CountDownLatch(1);
                            launch(framework.stream, () -> await(backward));
                            framework.compute(DENSE, comm.rank(), 4);
                            framework.compute(SPARSE, 1, 1);
                            GradientReducer reducer = reducer(framework, settings());
                            reducer.ready(SPARSE);
                            reducer.ready(DENSE);
                            reducer.synchronize(); // would wait forever if it waited for the device
                            List<float[]> seen = new ArrayList<>();
                            launch(framework.stream, () -> seen.add(read(framework.memory[DENSE])));
                            backward.countDown();
                            assertThat(framework.reduced(DENSE)).containsExactly(0.5f, 4);
                            assertThat(seen).hasSize(1);
                            assertThat(seen.getFirst()).containsExactly(0.5f, 4);
                        });
    }

    /// Rank 1 computes rows, rank 0 a dense gradient: all use the dense layout, on the device.
    @Test
    void rowsBecomeDenseOnTheDevice() {
        DeviceWorlds.of(2, fake)
                .run(
                        comm -> {
                            FakeFramework framework = new FakeFramework(comm);
                            framework.compute(DENSE, 1, 1);
                            if (comm.rank() == 0) {
                                framework.compute(SPARSE, 2, 4);
                            } else {
                                framework.computeRow(1, 6);
                            }
                            GradientReducer reducer = reducer(framework, settings());
                            reducer.backwardPassCompleted();
                            reducer.synchronize();
                            assertThat(framework.reduced(SPARSE)).containsExactly(1, 5);
                        });
    }

    @Test
    void rowsOfAllRanksStayInMainMemory() {
        DeviceWorlds.of(2, fake)
                .run(
                        comm -> {
                            FakeFramework framework = new FakeFramework(comm);
                            framework.compute(DENSE, 1, 3);
                            framework.computeRow(comm.rank(), 6);
                            GradientReducer reducer = reducer(framework, settings());
                            reducer.backwardPassCompleted();
                            reducer.synchronize();
                            assertThat(framework.reduced(SPARSE)).containsExactly(3, 3);
                            assertThat(framework.reduced(DENSE)).containsExactly(1, 3);
                        });
    }

    @Test
    void rowsAsDenseGradientsAreReducedOnTheDevice() {
        DeviceWorlds.of(2, fake)
                .run(
                        comm -> {
                            FakeFramework framework = new FakeFramework(comm);
                            framework.computeRow(comm.rank(), 6);
                            GradientReducer reducer =
                                    reducer(framework, settings().sparseAsDense(true));
                            reducer.backwardPassCompleted();
                            reducer.synchronize();
                            assertThat(framework.reduced(SPARSE)).containsExactly(3, 3);
                        });
    }

    @Test
    void frameworkScalesGradientsThatStayOnTheRank() {
        DeviceWorlds.of(2, fake)
                .run(
                        comm -> {
                            FakeFramework framework = new FakeFramework(comm);
                            framework.compute(DENSE, 4, 8);
                            GradientReducer reducer =
                                    reducer(framework, settings().local("dense"::equals));
                            reducer.backwardPassCompleted();
                            reducer.synchronize();
                            assertThat(framework.reduced(DENSE)).containsExactly(2, 4);
                        });
    }

    @Test
    void singleRankAveragesAccumulatedGradientsOnTheDevice() {
        DeviceWorlds.of(1, fake)
                .run(
                        comm -> {
                            FakeFramework framework = new FakeFramework(comm);
                            framework.compute(DENSE, 4, 8);
                            GradientReducer reducer =
                                    reducer(
                                            framework,
                                            settings()
                                                    .backwardPassesPerStep(2)
                                                    .averageAccumulated(true));
                            reducer.backwardPassCompleted();
                            reducer.backwardPassCompleted();
                            reducer.synchronize();
                            assertThat(framework.reduced(DENSE)).containsExactly(2, 4);
                        });
    }

    private static GradientSettings.Builder settings() {
        return GradientSettings.builder();
    }

    private static GradientReducer reducer(
            FakeFramework framework, GradientSettings.Builder settings) {
        return new GradientReducer(framework.comm.processSet(), framework, settings.build());
    }
}

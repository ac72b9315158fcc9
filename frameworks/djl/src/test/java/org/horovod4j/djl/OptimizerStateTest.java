package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;

import org.horovod4j.Communicator;
import org.horovod4j.ConfigurationException;
import org.horovod4j.MismatchException;
import org.horovod4j.testing.World;
import org.horovod4j.training.TensorSpec;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

class OptimizerStateTest {
    /// The optimizers of DJL, with settings that differ by rank, on an engine that can run them.
    enum DjlOptimizer {
        SGD("PyTorch", 0),
        MOMENTUM("PyTorch", 1),
        ADAM("PyTorch", 2),
        ADAM_W("PyTorch", 2),
        NAG("MXNet", 1),
        RMS_PROP("MXNet", 1),
        RMS_PROP_CENTERED("MXNet", 3),
        ADAGRAD("MXNet", 1);

        private final String engine;
        private final int slots;

        DjlOptimizer(String engine, int slots) {
            this.engine = engine;
            this.slots = slots;
        }

        Optimizer build(int rank) {
            Tracker rate = Tracker.fixed(0.1f + rank);
            return switch (this) {
                case SGD ->
                        Optimizer.sgd().setLearningRateTracker(rate).optClipGrad(2 + rank).build();
                case MOMENTUM ->
                        Optimizer.sgd()
                                .setLearningRateTracker(rate)
                                .optMomentum(0.9f - 0.1f * rank)
                                .build();
                case ADAM ->
                        Optimizer.adam()
                                .optLearningRateTracker(rate)
                                .optBeta1(0.9f - 0.1f * rank)
                                .build();
                case ADAM_W ->
                        Optimizer.adamW()
                                .optLearningRateTracker(rate)
                                .optBeta2(0.99f - 0.1f * rank)
                                .build();
                case RMS_PROP ->
                        Optimizer.rmsprop()
                                .optLearningRateTracker(rate)
                                .optRho(0.9f - 0.1f * rank)
                                .build();
                case RMS_PROP_CENTERED ->
                        Optimizer.rmsprop().optLearningRateTracker(rate).optCentered(true).build();
                case NAG ->
                        Optimizer.nag()
                                .setLearningRateTracker(rate)
                                .setMomentum(0.9f - 0.1f * rank)
                                .build();
                case ADAGRAD -> Optimizer.adagrad().optLearningRateTracker(rate).build();
            };
        }
    }

    @ParameterizedTest
    @EnumSource(DjlOptimizer.class)
    void allRanksGetStateAndSettingsOfRoot(DjlOptimizer djlOptimizer) {
        World.run(
                3,
                comm -> {
                    try (Model model = SmallNetwork.initialised(djlOptimizer.engine)) {
                        Optimizer optimizer = djlOptimizer.build(comm.rank());
                        // Rank 2 has made no steps; rank 0 has made more than rank 1.
                        SmallNetwork.train(model, optimizer, 4 - 2 * comm.rank());
                        OptimizerState state = OptimizerState.of(optimizer, model.getBlock());
                        Snapshot roots = comm.broadcastObject("root", Snapshot.of(state), 0);
                        assertThat(Snapshot.of(state).equals(roots)).isEqualTo(comm.rank() == 0);
                        assertThat(roots.arrays).hasSize(djlOptimizer.slots * 6);

                        Parameters.broadcast(comm, model.getBlock(), 0);
                        state.broadcast(comm, 0);

                        assertThat(Snapshot.of(state)).isEqualTo(roots);
                        assertThat(state.updates()).isEqualTo(4);
                        ranksStayEqual(comm, model, optimizer);
                    }
                });
    }

    /// Equal state and settings give equal steps from equal gradients.
    private static void ranksStayEqual(Communicator comm, Model model, Optimizer optimizer) {
        model.getBlock()
                .getParameters()
                .values()
                .forEach(
                        parameter -> {
                            NDArray weight = parameter.getArray();
                            if (parameter.requiresGradient()) {
                                try (NDArray gradient = weight.onesLike()) {
                                    optimizer.update(parameter.getId(), weight, gradient);
                                }
                            }
                        });
        List<String> mine = SmallNetwork.contents(Parameters.arrays(model.getBlock()));
        assertThat(comm.allgatherObject("weights", mine)).containsOnly(mine);
    }

    @Test
    void distributedOptimizerExposesStateOfWrapped() {
        World.run(
                1,
                comm -> {
                    try (Model model = SmallNetwork.model()) {
                        Optimizer adam = Optimizer.adam().build();
                        Optimizer distributed =
                                DistributedOptimizer.wrap(adam, model.getBlock())
                                        .communicator(comm)
                                        .build();
                        model.getBlock()
                                .initialize(
                                        model.getNDManager(),
                                        DataType.FLOAT32,
                                        new Shape(1, SmallNetwork.INPUTS));
                        SmallNetwork.train(model, adam, 2);
                        OptimizerState state = OptimizerState.of(distributed, model.getBlock());
                        assertThat(state.arrays()).hasSize(12);
                        assertThat(state.updates()).isEqualTo(2);
                    }
                });
    }

    /// No engine of this release can update with Adadelta twice: MXNet closes the arrays. So the test
    /// sets its state.
    @Test
    void adadeltaIsSupported() {
        World.run(
                2,
                comm -> {
                    try (Model model = SmallNetwork.initialised()) {
                        Optimizer adadelta =
                                Optimizer.adadelta().optRho(0.9f - 0.1f * comm.rank()).build();
                        OptimizerState state = OptimizerState.of(adadelta, model.getBlock());
                        if (comm.rank() == 0) {
                            TensorSpec form =
                                    new TensorSpec(
                                            "accumG/01Linear_bias",
                                            org.horovod4j.DataType.FLOAT32,
                                            List.of(5L));
                            state.reallocate(
                                            new OptimizerState.Counts(
                                                    3, Map.of("01Linear_bias", 3)),
                                            List.of(form))
                                    .forEach((name, array) -> array.addi(7));
                        }
                        Snapshot roots = comm.broadcastObject("root", Snapshot.of(state), 0);
                        state.broadcast(comm, 0);
                        assertThat(Snapshot.of(state)).isEqualTo(roots);
                        assertThat(roots.arrays)
                                .containsExactly("accumG/01Linear_bias[7.0, 7.0, 7.0, 7.0, 7.0]");
                        assertThat(roots.settings).containsEntry("rho", (double) 0.9f);
                    }
                });
    }

    @Test
    void rootWithoutStateClearsOthers() {
        World.run(
                2,
                comm -> {
                    try (Model model = SmallNetwork.initialised()) {
                        Optimizer adam = Optimizer.adam().build();
                        SmallNetwork.train(model, adam, comm.rank() * 3);
                        OptimizerState state = OptimizerState.of(adam, model.getBlock());
                        state.broadcast(comm, 0);
                        assertThat(state.arrays()).isEmpty();
                        assertThat(state.counts().byParameter()).isEmpty();
                        assertThat(state.updates()).isZero();
                    }
                });
    }

    /// If they are unfrozen later, ranks must not differ.
    @Test
    void stateOfFrozenParametersIsBroadcast() {
        World.run(
                2,
                comm -> {
                    try (Model model = SmallNetwork.initialised()) {
                        Optimizer adam = Optimizer.adam().build();
                        SmallNetwork.train(model, adam, comm.rank() + 1);
                        model.getBlock().freezeParameters(true, p -> p.getName().equals("bias"));
                        OptimizerState state = OptimizerState.of(adam, model.getBlock());
                        state.broadcast(comm, 1);
                        assertThat(state.arrays().keySet()).anyMatch(key -> key.endsWith("bias"));
                        assertThat(state.counts().byParameter().values()).containsOnly(2);
                    }
                });
    }

    @Test
    void differentOptimizersFailOnEveryRank() {
        World.run(
                2,
                comm -> {
                    try (Model model = SmallNetwork.initialised()) {
                        Optimizer mine =
                                comm.rank() == 0
                                        ? Optimizer.adam().build()
                                        : Optimizer.adagrad().build();
                        OptimizerState state = OptimizerState.of(mine, model.getBlock());
                        assertThatThrownBy(() -> state.broadcast(comm, 0))
                                .isInstanceOf(MismatchException.class)
                                .hasMessageContaining("rank 1: uses")
                                .hasMessageContaining("Adagrad")
                                .hasMessageContaining("Adam");
                    }
                });
    }

    @Test
    void customOptimizerWithDjlStateIsSupported() {
        try (Model model = SmallNetwork.initialised()) {
            CustomOptimizer customOptimizer = new CustomOptimizer();
            SmallNetwork.train(model, customOptimizer, 2);
            OptimizerState state = OptimizerState.of(customOptimizer, model.getBlock());
            assertThat(state.arrays()).hasSize(6).containsKey("signs/01Linear_weight");
        }
    }

    @Test
    void unsupportedStateIsRejected() {
        try (Model model = SmallNetwork.initialised()) {
            assertThatThrownBy(
                            () -> OptimizerState.of(new UnsupportedOptimizer(), model.getBlock()))
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("UnsupportedOptimizer")
                    .hasMessageContaining("'history'")
                    .hasMessageContaining("Map<String, Map<Device, NDArray>>");
        }
    }

    private record Snapshot(
            OptimizerState.Counts counts, Map<String, Double> settings, List<String> arrays) {
        static Snapshot of(OptimizerState state) {
            return new Snapshot(
                    state.counts(), state.settings(), SmallNetwork.contents(state.arrays()));
        }
    }

    private static class CustomOptimizer extends Optimizer {
        private final Map<String, Map<ai.djl.Device, NDArray>> signs = new HashMap<>();

        CustomOptimizer() {
            super(
                    new OptimizerBuilder<>() {
                        @Override
                        protected OptimizerBuilder<?> self() {
                            return this;
                        }
                    });
        }

        @Override
        public void update(String parameterId, NDArray weight, NDArray grad) {
            int _ = updateCount(parameterId);
            NDArray sign =
                    withDefaultState(
                            signs, parameterId, weight.getDevice(), id -> weight.zerosLike());
            assertThat(sign.getShape()).isEqualTo(weight.getShape());
        }
    }

    private static final class UnsupportedOptimizer extends CustomOptimizer {
        @SuppressWarnings("unused") // read by reflection
        private final Map<String, NDArray> history = new HashMap<>();
    }
}

package org.horovod4j.pytorch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.horovod4j.Communicator;
import org.horovod4j.ProcessSet;
import org.horovod4j.option.HookChoice;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;

/// Steps of an optimizer with two parameters of ones. A pass adds the number of the rank, from 1 on, to all
/// gradients, and a step subtracts the average.
class OptimizerStepsTest {
    private static final int LENGTH = 3;

    @BeforeAll
    static void load() {
        HvdTorch.load();
    }

    /// @param optimizer with the learning rate 1
    private record Training(
            Communicator comm, Tensor first, Tensor second, DistributedOptimizer optimizer) {
        static Training of(Communicator comm, Consumer<DistributedOptimizer.Builder> options) {
            return of(comm, true, options);
        }

        static Training of(
                Communicator comm,
                boolean secondIsTrained,
                Consumer<DistributedOptimizer.Builder> options) {
            Tensor first = torch.ones(LENGTH).set_requires_grad(true);
            Tensor second = torch.ones(LENGTH).set_requires_grad(secondIsTrained);
            Map<String, Tensor> parameters = new LinkedHashMap<>();
            parameters.put("first", first);
            parameters.put("second", second);
            DistributedOptimizer.Builder builder =
                    DistributedOptimizer.wrap(
                                    new SGD(new TensorVector(first, second), new SGDOptions(1)),
                                    parameters)
                            .communicator(comm)
                            .overlap(true);
            options.accept(builder);
            return new Training(comm, first, second, builder.build());
        }

        void pass() {
            first.add(second).mul(new Scalar(comm.rank() + 1f)).sum().backward();
        }

        boolean step() {
            boolean hasChanged = optimizer.step();
            if (hasChanged) {
                optimizer.zeroGrad();
            }
            return hasChanged;
        }

        void expect(double firstValue, double secondValue) {
            assertThat(TensorMemory.copy(first).toFloatArray()).containsOnly((float) firstValue);
            assertThat(TensorMemory.copy(second).toFloatArray()).containsOnly((float) secondValue);
        }
    }

    @Test
    void ranksOutsideOfProcessSetApplyTheirOwnGradients() {
        World.run(
                3,
                comm -> {
                    ProcessSet firstTwo = comm.addProcessSet(0, 1);
                    Training training = Training.of(comm, it -> it.processSet(firstTwo));
                    training.pass();
                    training.step();
                    double change = comm.rank() == 2 ? 3 : 1.5;
                    training.expect(1 - change, 1 - change);
                });
    }

    @Test
    void localParametersAreNotReduced() {
        World.run(
                2,
                comm -> {
                    Training training = Training.of(comm, it -> it.local("second"::equals));
                    training.pass();
                    training.step();
                    training.expect(1 - 1.5, 1 - (comm.rank() + 1) / 2.0);
                    Training unscaled =
                            Training.of(
                                    comm,
                                    it ->
                                            it.name("unscaled")
                                                    .local("second"::equals)
                                                    .scaleLocalGradients(false));
                    unscaled.pass();
                    unscaled.step();
                    unscaled.expect(1 - 1.5, 1 - (comm.rank() + 1));
                });
    }

    @Test
    void numberOfPassesMayChangeBetweenSteps() {
        World.run(
                2,
                comm -> {
                    Training training = Training.of(comm, _ -> {});
                    training.pass();
                    assertThat(training.step()).isTrue();
                    training.optimizer.setBackwardPassesPerStep(2);
                    training.pass();
                    assertThat(training.step()).isFalse();
                    training.expect(1 - 1.5, 1 - 1.5);
                    assertThatThrownBy(() -> training.optimizer.setBackwardPassesPerStep(3))
                            .hasMessageContaining("1 of 2 backward passes of this step are done");
                    training.pass();
                    assertThat(training.step()).isTrue();
                    training.expect(1 - 4.5, 1 - 4.5);
                });
    }

    @Test
    void resetDiscardsGradients() {
        World.run(
                2,
                comm -> {
                    Training training = Training.of(comm, it -> it.backwardPassesPerStep(2));
                    training.pass();
                    training.optimizer.reset();
                    training.pass();
                    assertThat(training.step()).isFalse();
                    training.pass();
                    assertThat(training.step()).isTrue();
                    training.expect(1 - 3, 1 - 3);
                });
    }

    @Test
    void unfrozenParameterIsTrained() {
        World.run(
                2,
                comm -> {
                    Training training = Training.of(comm, false, _ -> {});
                    training.pass();
                    training.step();
                    training.expect(1 - 1.5, 1);
                    training.second.set_requires_grad(true);
                    for (int step = 0; step < 2; step++) { // the second one with a hook
                        training.pass();
                        training.step();
                    }
                    training.expect(1 - 4.5, 1 - 3);
                });
    }

    /// A rank that has joined adds zeros to the average.
    @Test
    void rankWithFewerStepsJoins() {
        World.run(
                2,
                comm -> {
                    Training training = Training.of(comm, _ -> {});
                    for (int step = 0; step <= comm.rank(); step++) {
                        training.pass();
                        training.step();
                    }
                    assertThat(comm.join()).isOne();
                    double change = comm.rank() == 0 ? 1.5 : 2.5;
                    training.expect(1 - change, 1 - change);
                });
    }

    @Test
    void failedHookInBackwardFailsStep() {
        World.run(
                1,
                comm -> {
                    Training training = Training.of(comm, _ -> {});
                    Tensor sum = training.first.add(training.second);
                    TorchAutograd.hooks(HookChoice.AUTO)
                            .transformGradient(
                                    sum.address(),
                                    TorchTypes.byteSize(sum),
                                    _ -> {
                                        throw new IllegalStateException("no memory for 'sum'");
                                    });
                    sum.sum().backward();
                    assertThatThrownBy(training.optimizer::step).hasMessage("no memory for 'sum'");
                    training.expect(1, 1);
                    training.optimizer.zeroGrad();
                    training.pass();
                    training.step();
                    training.expect(0, 0);
                });
    }
}

package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import ai.djl.nn.Block;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.nn.norm.BatchNorm;

import org.horovod4j.Communicator;
import org.horovod4j.MismatchException;
import org.junit.jupiter.api.Test;

import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

class ParameterCheckIT {
    private static final int INTERVAL = 3;

    /// What one rank saw.
    ///
    /// @param forgotten the message of the first step, without a broadcast
    /// @param drifted that of a step after one rank changed a parameter
    public record Messages(
            String forgotten, boolean firstStepChangedWeights, String drifted, int driftedAt) {}

    @Test
    void forgottenBroadcastAndDriftAreReported() {
        List<Messages> ranks = TestTraining.ranks(2).run(ParameterCheckIT::train);

        for (Messages messages : ranks) {
            assertThat(messages.forgotten())
                    .startsWith(
                            """
                            the ranks start with different parameters
                              '03Linear_weight': one value on rank 0, another on rank 1
                            Call broadcastParameters on all ranks""");
            assertThat(messages.firstStepChangedWeights()).isFalse();
            assertThat(messages.drifted())
                    .startsWith(
                            """
                            the parameters of the ranks have drifted apart: they were equal in step 4, and differ in \
                            step 7
                              '01Linear_bias': one value on rank 0, another on rank 1
                            Look for code""");
            assertThat(messages.driftedAt()).isEqualTo(7);
        }
    }

    private static Messages train(Communicator comm) {
        try (TestTraining testTraining =
                new TestTraining(
                        network(),
                        block ->
                                DistributedOptimizer.wrap(TestTraining.sgd(), block)
                                        .communicator(comm)
                                        .parameterCheckInterval(INTERVAL)
                                        .build(),
                        TestTraining.INPUT)) {
            changeOnRank1(comm, testTraining, "03Linear_weight");
            float[] start = testTraining.weight("03Linear_weight");
            String forgotten = failedStep(testTraining, comm);
            boolean hasChanged = !Arrays.equals(start, testTraining.weight("03Linear_weight"));

            HvdDjl.broadcastParameters(testTraining.model, 0);
            testTraining.optimizer().reset();
            for (int step = 1; step <= 4; step++) {
                step(testTraining, comm, step);
            }
            changeOnRank1(comm, testTraining, "01Linear_bias");
            int step = 5;
            step(testTraining, comm, step++);
            step(testTraining, comm, step++);
            return new Messages(forgotten, hasChanged, failedStep(testTraining, comm), step);
        }
    }

    /// Its running statistics differ on each rank.
    private static Block network() {
        return new SequentialBlock()
                .add(Linear.builder().setUnits(8).build())
                .add(BatchNorm.builder().build())
                .add(Linear.builder().setUnits(TestTraining.OUTPUTS).build());
    }

    private static void changeOnRank1(
            Communicator comm, TestTraining testTraining, String parameter) {
        if (comm.rank() == 1) {
            TensorView view = TensorView.of(testTraining.parameter(parameter).getArray());
            view.tensor().segment().setAtIndex(ValueLayout.JAVA_FLOAT, 0, 9);
            view.writeBack();
        }
    }

    private static String failedStep(TestTraining testTraining, Communicator comm) {
        MismatchException failure =
                catchThrowableOfType(MismatchException.class, () -> step(testTraining, comm, 0));
        return Objects.requireNonNull(failure.getMessage());
    }

    private static void step(TestTraining testTraining, Communicator comm, int number) {
        int from = 8 * number + 4 * comm.rank();
        testTraining.pass(from, from + 4);
        testTraining.step();
    }
}

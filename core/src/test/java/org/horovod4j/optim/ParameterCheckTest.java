package org.horovod4j.optim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.horovod4j.optim.ReducerFixtures.LENGTH;
import static org.horovod4j.optim.ReducerFixtures.filled;
import static org.horovod4j.optim.ReducerFixtures.reducer;
import static org.horovod4j.optim.ReducerFixtures.settings;

import org.horovod4j.MismatchException;
import org.horovod4j.ProcessSet;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

import java.util.Objects;

class ParameterCheckTest {
    private static FakeGradients gradients(String... names) {
        FakeGradients fakeGradients = new FakeGradients(LENGTH, names);
        for (String name : names) {
            fakeGradients.setValue(name, filled(1));
        }
        return fakeGradients;
    }

    private static void step(GradientReducer reducer) {
        reducer.backwardPassCompleted();
        reducer.synchronize();
    }

    private static String failedStep(GradientReducer reducer) {
        MismatchException failure =
                catchThrowableOfType(MismatchException.class, () -> step(reducer));
        assertThat(failure).isNotNull();
        return Objects.requireNonNull(failure.getMessage());
    }

    @Test
    void differentParametersFailFirstStepOnAllRanks() {
        World.run(
                3,
                comm -> {
                    FakeGradients fakeGradients = gradients("weight", "bias", "scale");
                    if (comm.rank() == 1) {
                        fakeGradients.setValue("bias", filled(2));
                    }
                    fakeGradients.setValue("scale", filled(comm.rank()));
                    assertThat(failedStep(reducer(comm, fakeGradients, settings())))
                            .isEqualTo(
                                    """
                                    the ranks start with different parameters
                                      'bias': one value on ranks 0, 2, another on rank 1
                                      'scale': one value on rank 0, another on rank 1, another on rank 2
                                    Call broadcastParameters on all ranks after the parameters are initialised, before \
                                    the first backward pass. Declare parameters that ranks do not share as local. \
                                    HOROVOD_PARAMETER_CHECK_INTERVAL=0 switches this check off.""");
                });
    }

    @Test
    void driftIsFoundWithinOneInterval() {
        World.run(
                3,
                comm -> {
                    FakeGradients fakeGradients = gradients("weight", "bias");
                    GradientReducer reducer =
                            reducer(comm, fakeGradients, settings().parameterCheckInterval(3));
                    for (int step = 1; step <= 4; step++) {
                        step(reducer);
                    }
                    if (comm.rank() == 2) {
                        float[] changed = filled(1);
                        changed[LENGTH - 1] = Math.nextUp(1f);
                        fakeGradients.setValue("weight", changed);
                    }
                    step(reducer);
                    step(reducer);
                    assertThat(failedStep(reducer))
                            .startsWith(
                                    """
                                    the parameters of the ranks have drifted apart: they were equal in step 4, and \
                                    differ in step 7
                                      'weight': one value on ranks 0, 1, another on rank 2
                                    Look for code""")
                            .contains("broadcastOptimizerState");
                });
    }

    @Test
    void localAndUnsharedParametersMayDiffer() {
        World.run(
                2,
                comm -> {
                    FakeGradients fakeGradients = gradients("shared", "own");
                    fakeGradients.setValue("own", filled(comm.rank()));
                    step(reducer(comm, fakeGradients, settings().local("own"::equals)));
                });
    }

    @Test
    void intervalOfZeroSwitchesCheckOff() {
        World.run(
                2,
                comm -> {
                    FakeGradients fakeGradients = gradients("weight");
                    fakeGradients.setValue("weight", filled(comm.rank()));
                    GradientReducer reducer =
                            reducer(comm, fakeGradients, settings().parameterCheckInterval(0));
                    step(reducer);
                    step(reducer);
                });
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> settings().parameterCheckInterval(-1).build())
                .withMessage("parameterCheckInterval is at least 0, not -1");
    }

    /// Otherwise ranks that have counted different numbers of steps would wait for each other.
    @Test
    void ranksCountFromZeroAfterJoin() {
        World.run(
                2,
                comm -> {
                    FakeGradients fakeGradients = gradients("weight");
                    GradientReducer reducer =
                            reducer(comm, fakeGradients, settings().parameterCheckInterval(4));
                    for (int epoch = 0; epoch < 2; epoch++) {
                        for (int step = 0; step < 5 + 2 * comm.rank(); step++) {
                            step(reducer);
                        }
                        int _ = comm.join();
                    }
                    fakeGradients.setValue("weight", filled(comm.rank()));
                    assertThat(failedStep(reducer))
                            .startsWith("the parameters of the ranks differ after a join\n")
                            .endsWith("with the rank that it returned as root.");
                });
    }

    @Test
    void messageNamesRanksOfJob() {
        World.run(
                4,
                comm -> {
                    ProcessSet odd = comm.addProcessSet(1, 3);
                    FakeGradients fakeGradients = gradients("weight");
                    fakeGradients.setValue("weight", filled(comm.rank()));
                    GradientReducer reducer =
                            new GradientReducer(odd, fakeGradients, settings().build());
                    if (odd.isIncluded()) {
                        assertThat(failedStep(reducer))
                                .contains("'weight': one value on rank 1, another on rank 3");
                    } else {
                        step(reducer);
                    }
                });
    }

    @Test
    void longReportsAreShortened() {
        World.run(
                6,
                comm -> {
                    String[] names = new String[10];
                    for (int i = 0; i < names.length; i++) {
                        names[i] = "layer" + i;
                    }
                    FakeGradients fakeGradients = gradients(names);
                    for (String name : names) {
                        fakeGradients.setValue(name, filled(comm.rank()));
                    }
                    assertThat(failedStep(reducer(comm, fakeGradients, settings())))
                            .contains(
                                    "'layer7': one value on rank 0, another on rank 1, another on"
                                            + " rank 2, another on rank 3, and 2 more\n")
                            .contains("\n  and 2 more of 10 parameters\n")
                            .doesNotContain("layer8");
                });
    }
}

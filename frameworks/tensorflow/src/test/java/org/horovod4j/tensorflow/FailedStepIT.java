package org.horovod4j.tensorflow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.MismatchException;
import org.horovod4j.ReduceOp;
import org.horovod4j.launcher.Launcher;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.exceptions.TensorFlowException;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Placeholder;
import org.tensorflow.proto.ConfigProto;
import org.tensorflow.types.TFloat32;

import java.util.List;
import java.util.Map;

/// Steps that fail on one of two processes, when it has submitted some of its collectives.
class FailedStepIT {
    private static final int STEPS = 12;
    private static final ConfigProto TWO_THREADS =
            ConfigProto.newBuilder()
                    .setInterOpParallelismThreads(2)
                    .setUsePerSessionThreads(true)
                    .build();

    @ParameterizedTest
    @ValueSource(strings = {"async", "blocking"})
    void otherRankFailsTooAndBothContinue(String kernels) {
        List<float[]> values =
                Launcher.processes(2)
                        .jvmOptions(TestJvm.SHORT_LIVED)
                        .options(Map.of("HOROVOD_TENSORFLOW_KERNELS", kernels))
                        .run(FailedStepIT::train);
        // each of the nine steps that succeed adds 1 + 2 to the first variable and 10 + 20 to the
        // second
        assertThat(values).allSatisfy(each -> assertThat(each).containsExactly(27, 270));
    }

    /// Two sums, of which the second fails if its input is infinite, and the first has been submitted
    /// by then.
    private static float[] train(Communicator comm) {
        try (Graph graph = new Graph()) {
            Ops tf = Ops.create(graph);
            HvdOps hvd = HvdTensorFlow.ops(tf);
            Placeholder<TFloat32> input = tf.placeholder(TFloat32.class);
            Operand<TFloat32> total = tf.variable(tf.constant(0f));
            Operand<TFloat32> second = tf.variable(tf.constant(0f));
            Operand<TFloat32> first =
                    hvd.withName("first").allreduce(tf.constant(1f + comm.rank()), ReduceOp.SUM);
            Operand<TFloat32> checked =
                    tf.withControlDependencies(List.of(first))
                            .debugging
                            .checkNumerics(input, "bad batch");
            Operand<TFloat32> sum = hvd.withName("second").allreduce(checked, ReduceOp.SUM);
            Op step =
                    tf.withControlDependencies(List.of(first, sum))
                            .withControlDependencies(
                                    List.of(
                                            tf.assignAdd(total, gated(tf, first, sum)),
                                            tf.assignAdd(second, sum)))
                            .noOp();
            try (Session session = new Session(graph, TWO_THREADS)) {
                session.initialize();
                for (int i = 0; i < STEPS; i++) {
                    runStep(comm, session, input, step, i);
                }
                try (Result result = session.runner().fetch(total).fetch(second).run()) {
                    return new float[] {
                        ((TFloat32) result.get(0)).getFloat(), ((TFloat32) result.get(1)).getFloat()
                    };
                }
            }
        }
    }

    private static Operand<TFloat32> gated(
            Ops tf, Operand<TFloat32> value, Operand<TFloat32> after) {
        return tf.withControlDependencies(List.of(after)).identity(value);
    }

    private static void runStep(
            Communicator comm, Session session, Placeholder<TFloat32> input, Op step, int number) {
        boolean fails = number % 4 == 2; // on rank 0, 1, 0
        boolean failsHere = fails && number / 4 % 2 == comm.rank();
        boolean isUnfed = number == 10; // then a placeholder fails
        float value = failsHere ? Float.POSITIVE_INFINITY : 10f * (1 + comm.rank());
        try (TFloat32 batch = TFloat32.scalarOf(value)) {
            Session.Runner runner = session.runner().addTarget(step);
            if (!failsHere || !isUnfed) {
                runner.feed(input, batch);
            }
            if (!fails) {
                runner.run().close();
                return;
            }
            assertThatThrownBy(runner::run)
                    .isInstanceOfSatisfying(
                            RuntimeException.class,
                            e -> {
                                check(e, failsHere, number / 4 % 2, isUnfed);
                                HvdTensorFlow.failStep(session, e);
                            });
        }
        assertThat(Hvd.size()).isEqualTo(2);
    }

    private static void check(
            RuntimeException e, boolean failedHere, int failedRank, boolean isUnfed) {
        String cause = isUnfed ? "You must feed a value" : "bad batch";
        if (failedHere || !isUnfed) {
            assertThat(e).hasMessageContaining(cause);
        } else { // a rank that is two seconds late gets the early report
            assertThat(e).hasMessageFindingMatch(cause + "|a node of its graph failed");
        }
        if (!failedHere) {
            assertThat(e)
                    .hasMessageContaining("the step of rank " + failedRank + " has failed")
                    .hasMessageContaining(isUnfed ? "allreduce of '" : "allreduce of 'second'");
            assertThat(HvdTensorFlow.failure((TensorFlowException) e))
                    .containsInstanceOf(MismatchException.class);
        }
    }

    /// Each rank has submitted the collective that the other one has not.
    @Test
    void ranksThatFailAtDifferentNodesContinue() {
        List<Float> sums =
                Launcher.processes(2)
                        .jvmOptions(TestJvm.SHORT_LIVED)
                        .options(
                                Map.of(
                                        "HOROVOD_STALL_CHECK_TIME_SECONDS", "30",
                                        "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "60"))
                        .run(FailedStepIT::failAtDifferentNodes);
        assertThat(sums).containsExactly(30f, 30f);
    }

    private static float failAtDifferentNodes(Communicator comm) {
        try (Graph graph = new Graph()) {
            Ops tf = Ops.create(graph);
            List<Placeholder<TFloat32>> inputs =
                    List.of(tf.placeholder(TFloat32.class), tf.placeholder(TFloat32.class));
            List<Operand<TFloat32>> sums =
                    List.of(
                            sumOfProduct(tf, inputs.get(0), "first"),
                            sumOfProduct(tf, inputs.get(1), "second"));
            Operand<TFloat32> total = tf.variable(tf.constant(0f));
            Op step = tf.assignAdd(total, tf.math.add(sums.get(0), sums.get(1)));
            try (Session session = new Session(graph, TWO_THREADS)) {
                session.initialize();
                for (int i = 0; i < 7; i++) {
                    boolean fails = i == 2 || i == 5;
                    int bad = (comm.rank() + i) % 2;
                    try (TFloat32 one =
                                    TFloat32.tensorOf(
                                            Shape.of(1, 1), each -> each.setFloat(1, 0, 0));
                            TFloat32 infinite =
                                    TFloat32.tensorOf(
                                            Shape.of(3000, 3000),
                                            each -> each.setFloat(Float.POSITIVE_INFINITY, 7, 7))) {
                        Session.Runner runner =
                                session.runner()
                                        .addTarget(step)
                                        .feed(inputs.get(bad), fails ? infinite : one)
                                        .feed(inputs.get(1 - bad), one);
                        if (fails) {
                            // a rank that is two seconds late sees the failure of the other one
                            assertThatThrownBy(runner::run)
                                    .hasMessageFindingMatch(
                                            "bad input of %s|a node of its graph failed"
                                                    .formatted(bad == 0 ? "first" : "second"))
                                    .satisfies(e -> HvdTensorFlow.failStep(session, e));
                        } else {
                            runner.run().close();
                        }
                    }
                }
                try (Result result = session.runner().fetch(total).run()) {
                    return ((TFloat32) result.get(0)).getFloat();
                }
            }
        }
    }

    /// The run of rank 0 fails while a collective waits for rank 1. Then both validate, before the program of
    /// rank 0 reports the failure.
    @Test
    void earlyReportIsKeptUntilTheProgramReportsTheFailure() {
        List<Float> sums =
                Launcher.processes(2)
                        .jvmOptions(TestJvm.SHORT_LIVED)
                        .options(
                                Map.of(
                                        "HOROVOD_STALL_CHECK_TIME_SECONDS", "30",
                                        "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "60"))
                        .run(FailedStepIT::validateBeforeReport);
        assertThat(sums).containsExactly(3f, 3f);
    }

    private static float validateBeforeReport(Communicator comm) {
        try (Graph graph = new Graph();
                TFloat32 infinite =
                        TFloat32.tensorOf(
                                Shape.of(3000, 3000),
                                each -> each.setFloat(Float.POSITIVE_INFINITY, 7, 7))) {
            Ops tf = Ops.create(graph);
            HvdOps hvd = HvdTensorFlow.ops(tf);
            Placeholder<TFloat32> input = tf.placeholder(TFloat32.class);
            Operand<TFloat32> own = tf.constant(1f + comm.rank());
            Operand<TFloat32> first = hvd.withName("first").allreduce(own, ReduceOp.SUM);
            Operand<TFloat32> second = sumOfProduct(tf, input, "second");
            Operand<TFloat32> validation = hvd.withName("validation").allreduce(own, ReduceOp.SUM);
            try (Session session = new Session(graph, TWO_THREADS)) {
                if (comm.rank() == 0) {
                    Session.Runner step =
                            session.runner().fetch(first).fetch(second).feed(input, infinite);
                    assertThatThrownBy(step::run)
                            .hasMessageContaining("bad input of second")
                            .satisfies(
                                    e -> {
                                        assertThat(scalarWhenStepHasEnded(session, validation))
                                                .isEqualTo(3);
                                        HvdTensorFlow.failStep(session, e);
                                    });
                } else {
                    assertThatThrownBy(
                                    () ->
                                            comm.allreduce(
                                                    "not on rank 0", new float[1], ReduceOp.SUM))
                            .hasMessageContaining("a node of its graph failed")
                            .satisfies(e -> HvdTensorFlow.failStep(session, e));
                    assertThat(scalar(session, validation)).isEqualTo(3);
                }
                return scalar(session, first);
            }
        }
    }

    /// Collectives fail until all ranks have ended the failed step.
    private static float scalarWhenStepHasEnded(Session session, Operand<TFloat32> output) {
        while (true) {
            try {
                return scalar(session, output);
            } catch (TensorFlowException _) {
                Thread.onSpinWait();
            }
        }
    }

    private static float scalar(Session session, Operand<TFloat32> output) {
        try (Result result = session.runner().fetch(output).run()) {
            return ((TFloat32) result.get(0)).getFloat();
        }
    }

    /// An infinite input takes long, so that the other collective is submitted before the run fails.
    private static Operand<TFloat32> sumOfProduct(Ops tf, Operand<TFloat32> input, String name) {
        Operand<TFloat32> product =
                tf.reduceSum(tf.linalg.matMul(input, input), tf.constant(new int[] {0, 1}));
        return HvdTensorFlow.ops(tf)
                .withName(name)
                .allreduce(
                        tf.math.mul(
                                tf.debugging.checkNumerics(product, "bad input of " + name),
                                tf.constant(1.5f)),
                        ReduceOp.SUM);
    }
}

package org.horovod4j.tensorflow.kernel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import org.horovod4j.Tensor;
import org.horovod4j.launcher.check.BuildReport;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.TensorFlow;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Placeholder;
import org.tensorflow.proto.DataType;
import org.tensorflow.types.TFloat32;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;

/// Which kernels are used, and the check of TensorFlow's callback.
class OpKernelsTest {
    @Test
    void versionOfTheBuildUsesAsynchronousKernels() {
        assertThat(OpKernels.get().choice())
                .hasToString("asynchronous kernels: they are tested with TensorFlow 2.18.0");
    }

    @Test
    void selfTestPassesInANewProcess() {
        assertThat(KernelSelfTest.runInNewProcess()).isEmpty();
    }

    @Test
    void checkBuildRunsTheSelfTestAndNamesTheKernelsThatAreUsed() throws Exception {
        assertThat(
                        new BuildReport(Map.of("CLASSPATH", TestJvm.CLASS_PATH))
                                .text("1.2", List.of(), List.of()))
                .containsPattern(
                        "TensorFlow Java: API .*; tested; asynchronous kernels: they are tested with TensorFlow 2.18.0; the self-test passed");
    }

    /// A function may hold a communicator. The next graph removes those of graphs that are gone.
    @Test
    void blockedThreadsAreThoseOfTheLargestGraph() {
        NodeFunctions functions = new NodeFunctions();
        assertThat(functions.blocking()).isZero();
        try (Graph small = new Graph();
                Graph large = new Graph()) {
            functions.countBlockingNode(small);
            functions.countBlockingNode(large);
            functions.countBlockingNode(large);
            assertThat(functions.blocking()).isEqualTo(2);
        }
    }

    /// Other collectives of the run are in flight, so the caller must get to the point where it waits.
    @Test
    void errorAtTheStartOfACollectiveIsItsResult() {
        Error error = new AssertionError("on purpose");
        FetchFeedNode node =
                new FetchFeedNode(
                        "node",
                        (_, _) -> {
                            throw error;
                        },
                        List.of(),
                        List.of());
        assertThatThrownBy(node.start(List.of())::get).hasCause(error);
    }

    @Test
    void functionsLiveAsLongAsTheirGraph() {
        List<WeakReference<AddOne>> functions = new ArrayList<>();
        for (int i = 0; i < 100 && !hasGone(functions); i++) {
            functions.add(new WeakReference<>(useGraph()));
            System.gc();
        }
        assertThat(functions).anyMatch(function -> function.get() == null);
    }

    private static boolean hasGone(List<WeakReference<AddOne>> functions) {
        return functions.stream().anyMatch(function -> function.get() == null);
    }

    private static AddOne useGraph() {
        AddOne function = new AddOne();
        try (Graph graph = new Graph();
                Session session = new Session(graph)) {
            Ops tf = Ops.create(graph);
            Output<?> output = addNode(tf, tf.constant(1f), function);
            session.runner().fetch(output).run().close();
        }
        assertThat(function.inPlace).hasSize(1);
        return function;
    }

    /// Adds 1 to its input, in place if it may.
    private static final class AddOne implements NodeFunction {
        private final List<Boolean> inPlace = new CopyOnWriteArrayList<>();

        @Override
        public void start(String name, Execution execution) {
            Tensor output = execution.outputLike(0);
            Tensor input = execution.input(0);
            inPlace.add(output.segment().address() == input.segment().address());
            output.segment()
                    .set(JAVA_FLOAT_UNALIGNED, 0, input.segment().get(JAVA_FLOAT_UNALIGNED, 0) + 1);
            execution.complete();
        }
    }

    /// The memory of a sum is free after the node; that of a variable is not.
    @Test
    void nodesWorkInTheMemoryOfAnInputThatNothingElseUses() {
        AddOne toSum = new AddOne();
        AddOne toVariable = new AddOne();
        try (Graph graph = new Graph();
                Session session = new Session(graph);
                TFloat32 fed = TFloat32.scalarOf(3)) {
            Ops tf = Ops.create(graph);
            Placeholder<TFloat32> input = tf.placeholder(TFloat32.class);
            Operand<TFloat32> variable = tf.variable(tf.constant(5f));
            Output<?> afterSum = addNode(tf, tf.math.add(input, input), toSum);
            Output<?> afterVariable = addNode(tf, variable, toVariable);
            session.initialize();
            try (Result result =
                    session.runner()
                            .feed(input, fed)
                            .fetch(afterSum)
                            .fetch(afterVariable)
                            .fetch(variable)
                            .run()) {
                assertThat(result)
                        .extracting(each -> ((TFloat32) each.getValue()).getFloat())
                        .containsExactly(7f, 6f, 5f);
            }
        }
        assertThat(toSum.inPlace).containsExactly(true);
        assertThat(toVariable.inPlace).containsExactly(false);
    }

    private static Output<?> addNode(Ops tf, Operand<TFloat32> input, AddOne function) {
        return new Node(
                        tf.scope(),
                        OpType.ALLREDUCE,
                        "add_one",
                        List.of(input),
                        List.of(DataType.DT_FLOAT),
                        function)
                .add()
                .getFirst();
    }

    /// The pointers of another object are not functions of TensorFlow.
    @Test
    void callbackOfAnotherLayoutIsRecognized() {
        assertThat(TensorFlow.version()).isNotEmpty(); // loads the library
        CodeRegions code = CodeRegions.ofTensorFlow();
        assertThat(code.regions()).isNotEmpty();
        long inside = code.regions().getFirst().from();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment words = arena.allocateFrom(JAVA_LONG, 1, 2, inside, inside);
            assertThat(DoneCallback.hasKnownLayout(words, code)).isTrue();
            words.setAtIndex(JAVA_LONG, 3, words.address());
            assertThat(DoneCallback.hasKnownLayout(words, code)).isFalse();
        }
    }
}

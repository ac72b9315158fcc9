package org.horovod4j.tensorflow.training;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.elastic.Elastic;
import org.horovod4j.elastic.ObjectState;
import org.horovod4j.tensorflow.Adam;
import org.horovod4j.tensorflow.HvdTensorFlow;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Variable;
import org.tensorflow.proto.ConfigProto;
import org.tensorflow.types.TInt64;

import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/// Trains with Adam until a file appears, whose name is the argument. Prints its state when a generation
/// begins and at the end. The graph and the session are built once, before `init`.
final class ElasticTensorFlowWorker {
    private final LinearModel model;
    private final Op countedStep;
    private final Session session;
    private final ObjectState state;
    private final VariableValues variables;
    private final Path end;

    private ElasticTensorFlowWorker(LinearModel model, Op countedStep, Session session, Path end) {
        this.model = model;
        this.countedStep = countedStep;
        this.session = session;
        this.variables = new VariableValues(model.graph);
        this.state =
                new ObjectState().with("variables", new TensorFlowState(session)).with("step", 0);
        this.end = end;
    }

    public static void main(String[] arguments) {
        float start = ProcessHandle.current().pid(); // another one on each worker
        ConfigProto oneThread =
                ConfigProto.newBuilder()
                        .setInterOpParallelismThreads(1)
                        .setIntraOpParallelismThreads(1)
                        .build();
        try (LinearModel model =
                new LinearModel(
                        start, graph -> HvdTensorFlow.distributed(new Adam(graph, 0.01f)))) {
            Op countedStep = countedStep(model);
            try (Session session = new Session(model.graph, oneThread)) {
                session.initialize();
                new ElasticTensorFlowWorker(model, countedStep, session, Path.of(arguments[0]))
                        .run();
            }
        }
        Hvd.shutdown();
    }

    private static Op countedStep(LinearModel model) {
        Ops init = model.tf.withInitScope();
        Variable<TInt64> updates = init.withName("updates").variable(Shape.scalar(), TInt64.class);
        init.assign(updates, init.constant(0L));
        Ops after = model.tf.withControlDependencies(List.of(model.trainOp));
        return after.assignAdd(updates, after.constant(1L));
    }

    private void run() {
        if (Elastic.run(state, _ -> train())) {
            printEvent("done");
        }
    }

    private void train() {
        printEvent("begin");
        boolean hasMore = true;
        while (hasMore) {
            model.run(session, countedStep, state.getInt("step"), Hvd.rank());
            state.set("step", state.getInt("step") + 1);
            float[] isLast = {Files.exists(end) ? 1 : 0}; // not seen by all at once
            Hvd.allreduce("last", isLast, ReduceOp.MAX);
            hasMore = isLast[0] == 0;
            if (hasMore) {
                state.commit();
            }
        }
    }

    private static int contentHash(Tensor tensor) {
        return Arrays.hashCode(tensor.segment().toArray(ValueLayout.JAVA_BYTE));
    }

    private void printEvent(String event) {
        try (Result values = variables.fetch(session)) {
            var tensors = variables.view(values);
            int content =
                    Arrays.hashCode(
                            tensors.values().stream()
                                    .mapToInt(tensor -> contentHash(tensor))
                                    .toArray());
            IO.println(
                    "%s generation=%d rank=%d size=%d pid=%d step=%d updates=%d variables=%d content=%08x"
                            .formatted(
                                    event,
                                    Hvd.membership().generation(),
                                    Hvd.rank(),
                                    Hvd.size(),
                                    ProcessHandle.current().pid(),
                                    state.getInt("step"),
                                    Objects.requireNonNull(tensors.get("updates")).toLongArray()[0],
                                    tensors.size(),
                                    content));
        }
    }
}

package org.horovod4j.tensorflow;

import org.horovod4j.HorovodException;
import org.horovod4j.tensorflow.kernel.FetchedNode;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.Tensor;
import org.tensorflow.op.Op;
import org.tensorflow.types.family.TType;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;
import java.util.function.Supplier;

/// A run of a session whose collectives also work where TensorFlow cannot have our ops: see
/// `HOROVOD_TENSORFLOW_KERNELS`. [org.horovod4j.tensorflow.training.TrainingSession] uses it.
///
/// ```java
/// PreparedRun step = PreparedRun.of(session, List.of(loss), List.of(minimize)); // once
/// try (PreparedRun.Values values = step.run(runner -> runner.feed(images, batch))) {
///     System.out.println(((TFloat32) values.get(0)).getFloat());
/// }
/// ```
///
/// With our ops it is a plain run. Otherwise it is two: the first one computes what collectives need, and
/// the second one gets their results.
public final class PreparedRun {
    private final Session session;
    private final RunPhases phases;

    private PreparedRun(Session session, RunPhases phases) {
        this.session = session;
        this.phases = phases;
    }

    /// Prepares a run of a graph that is complete.
    ///
    /// @param fetches the outputs whose values are returned
    /// @param targets ops that run too
    /// @throws UnsupportedOperationException when the run cannot be divided in two
    public static PreparedRun of(
            Session session,
            Collection<? extends Operand<?>> fetches,
            Collection<? extends Op> targets) {
        return new PreparedRun(session, RunPhases.of(session.graph(), fetches, targets));
    }

    /// Prepares a run of one op.
    public static PreparedRun of(Session session, Op target) {
        return of(session, List.of(), List.of(target));
    }

    /// Runs the graph without feeds.
    public void run() {
        run(_ -> {}).close();
    }

    /// Runs the graph.
    ///
    /// @param feeds feeds the batch; called for each part of the run
    /// @throws org.tensorflow.exceptions.TensorFlowException when an op fails
    /// @throws HorovodException when a collective fails that runs between two parts
    public Values run(Consumer<Session.Runner> feeds) {
        List<Result> results = new ArrayList<>();
        List<Tensor> fed = new ArrayList<>();
        boolean isDone = false;
        try {
            for (RunPhases.Phase phase : phases.all()) {
                Session.Runner runner = session.runner();
                feeds.accept(runner);
                phase.fetches().forEach(runner::fetch);
                phase.targets().forEach(runner::addTarget);
                if (!results.isEmpty()) {
                    fed = reduce(results.getFirst(), runner);
                }
                results.add(runner.run());
            }
            isDone = true;
        } finally {
            fed.forEach(Tensor::close);
            if (!isDone) {
                results.forEach(Result::close);
            }
        }
        return new Values(phases, results);
    }

    /// Runs the collectives with values of the first part, and feeds their results to the second.
    ///
    /// @return what is fed
    private List<Tensor> reduce(Result fetched, Session.Runner runner) {
        List<Supplier<List<org.horovod4j.Tensor>>> running =
                phases.collectives().stream()
                        .map(node -> node.start(inputs(node, fetched)))
                        .toList();
        List<List<org.horovod4j.Tensor>> outputs = awaitAll(running);
        List<Tensor> fed = new ArrayList<>();
        boolean isDone = false;
        try {
            for (int i = 0; i < outputs.size(); i++) {
                FetchedNode node = phases.collectives().get(i);
                for (int j = 0; j < outputs.get(i).size(); j++) {
                    Output<?> output =
                            session.graph().operationOrThrow(node.outputs().get(j)).output(0);
                    TType value = copy(output, outputs.get(i).get(j));
                    fed.add(value);
                    runner.feed(output, value);
                }
            }
            isDone = true;
        } finally {
            if (!isDone) {
                fed.forEach(Tensor::close);
            }
        }
        return fed;
    }

    private List<org.horovod4j.Tensor> inputs(FetchedNode node, Result fetched) {
        Map<String, Integer> positions = phases.inputPositions();
        return node.inputs().stream()
                .map(
                        input ->
                                HvdTensorFlow.view(
                                        (TType)
                                                fetched.get(
                                                        Objects.requireNonNull(
                                                                positions.get(input), input))))
                .toList();
    }

    /// All collectives, also after a failure: they use the memory of the fetched tensors.
    private static List<List<org.horovod4j.Tensor>> awaitAll(
            List<Supplier<List<org.horovod4j.Tensor>>> running) {
        List<List<org.horovod4j.Tensor>> outputs = new ArrayList<>();
        List<CompletionException> failures = new ArrayList<>();
        for (Supplier<List<org.horovod4j.Tensor>> each : running) {
            try {
                outputs.add(each.get());
            } catch (CompletionException e) {
                failures.add(e);
            }
        }
        if (!failures.isEmpty()) {
            throw failures.getFirst().getCause() instanceof RuntimeException cause
                    ? cause
                    : failures.getFirst();
        }
        return outputs;
    }

    private static TType copy(Output<?> output, org.horovod4j.Tensor value) {
        TType tensor =
                Tensor.of(output.type(), org.tensorflow.ndarray.Shape.of(value.shape().toArray()));
        HvdTensorFlow.view(tensor).segment().copyFrom(value.segment());
        return tensor;
    }

    /// The values of a run.
    public static final class Values implements AutoCloseable {
        private final RunPhases phases;
        private final List<Result> results;

        private Values(RunPhases phases, List<Result> results) {
            this.phases = phases;
            this.results = results;
        }

        /// The value of a fetched output, by its position among the fetches. It is valid until this
        /// object is closed.
        public Tensor get(int index) {
            RunPhases.Position position = phases.fetchPositions().get(index);
            return results.get(position.phase()).get(position.index());
        }

        @Override
        public void close() {
            results.forEach(Result::close);
        }
    }
}

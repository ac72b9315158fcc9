package org.horovod4j.tensorflow;

import org.horovod4j.HorovodException;
import org.horovod4j.tensorflow.kernel.FetchFeedNode;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.Tensor;
import org.tensorflow.op.Op;
import org.tensorflow.types.family.TType;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;
import java.util.function.Supplier;

/// A run of a session whose collectives also work if our ops cannot be registered: see
/// `HOROVOD_TENSORFLOW_KERNELS`. [org.horovod4j.tensorflow.training.TrainingSession] uses it.
///
/// ```java
/// PreparedRun step = PreparedRun.of(session, List.of(loss), List.of(minimize)); // once
/// try (PreparedRun.Values values = step.run(feeds -> feeds.feed(images, batch))) {
///     System.out.println(((TFloat32) values.get(0)).getFloat());
/// }
/// ```
///
/// With our ops it is a plain run. Otherwise it is two: the first one computes what collectives need, and
/// the second one gets their results.
public final class PreparedRun {
    private final Session session;
    private final RunParts parts;

    private PreparedRun(Session session, RunParts parts) {
        this.session = session;
        this.parts = parts;
    }

    /// Prepares a run of a graph that is complete.
    ///
    /// @param fetches the outputs whose values are returned
    /// @param targets ops that run too
    /// @throws UnsupportedOperationException when the run cannot be split into two parts
    public static PreparedRun of(
            Session session,
            Collection<? extends Operand<?>> fetches,
            Collection<? extends Op> targets) {
        return new PreparedRun(session, RunParts.of(session.graph(), fetches, targets));
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
    /// @param feeds feeds the batch; called once
    /// @throws org.tensorflow.exceptions.TensorFlowException when an op fails
    /// @throws HorovodException when a collective fails that runs between two parts
    public Values run(Consumer<Feeds> feeds) {
        Feeds recorded = new Feeds();
        feeds.accept(recorded);
        SortedMap<Integer, Result> results = new TreeMap<>();
        List<Tensor> fed = new ArrayList<>();
        boolean isDone = false;
        try {
            for (int i = 0; i < parts.all().size(); i++) {
                RunParts.Part part = parts.all().get(i);
                if (i == 0 && part.isEmpty() && parts.all().size() > 1) {
                    continue; // TensorFlow refuses such a run
                }
                Session.Runner runner = session.runner();
                recorded.all.forEach(feed -> feed.accept(runner));
                part.fetches().forEach(runner::fetch);
                part.targets().forEach(runner::addTarget);
                if (i > 0) {
                    fed = runCollectives(Optional.ofNullable(results.get(0)), runner);
                }
                results.put(i, runner.run());
            }
            isDone = true;
        } finally {
            fed.forEach(Tensor::close);
            if (!isDone) {
                results.values().forEach(Result::close);
            }
        }
        return new Values(parts, results);
    }

    /// Runs the collectives with values of the first part, and feeds their results to the second.
    ///
    /// @param fetched empty if no collective has inputs
    /// @return what is fed
    private List<Tensor> runCollectives(Optional<Result> fetched, Session.Runner runner) {
        // All inputs before the first start: what is in flight uses the memory of fetched tensors.
        List<List<org.horovod4j.Tensor>> inputs =
                parts.collectives().stream().map(node -> inputs(node, fetched)).toList();
        List<Supplier<List<org.horovod4j.Tensor>>> running = new ArrayList<>();
        for (int i = 0; i < inputs.size(); i++) {
            running.add(parts.collectives().get(i).start(inputs.get(i)));
        }
        List<List<org.horovod4j.Tensor>> outputs = awaitAll(running);
        List<Tensor> fed = new ArrayList<>();
        boolean isDone = false;
        try {
            for (int i = 0; i < outputs.size(); i++) {
                FetchFeedNode node = parts.collectives().get(i);
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

    private List<org.horovod4j.Tensor> inputs(FetchFeedNode node, Optional<Result> fetched) {
        Map<String, Integer> positions = parts.inputPositions();
        return node.inputs().stream()
                .map(input -> Objects.requireNonNull(positions.get(input), input))
                .map(position -> HvdTensorFlow.view((TType) fetched.orElseThrow().get(position)))
                .toList();
    }

    /// Waits for all collectives, also after a failure: they use the memory of the fetched tensors.
    private static List<List<org.horovod4j.Tensor>> awaitAll(
            List<Supplier<List<org.horovod4j.Tensor>>> running) {
        List<List<org.horovod4j.Tensor>> outputs = new ArrayList<>();
        Set<Throwable> failures = new LinkedHashSet<>();
        for (Supplier<List<org.horovod4j.Tensor>> each : running) {
            try {
                outputs.add(each.get());
            } catch (CompletionException e) {
                failures.add(e.getCause() == null ? e : e.getCause());
            }
        }
        if (!failures.isEmpty()) {
            throw asUnchecked(failures);
        }
        return outputs;
    }

    /// The first failure; the others are suppressed.
    private static RuntimeException asUnchecked(Set<Throwable> failures) {
        Throwable first = failures.iterator().next();
        failures.stream().skip(1).forEach(first::addSuppressed);
        return switch (first) {
            case RuntimeException exception -> exception;
            case Error error -> throw error;
            default -> new CompletionException(first);
        };
    }

    private static TType copy(Output<?> output, org.horovod4j.Tensor value) {
        TType tensor =
                Tensor.of(output.type(), org.tensorflow.ndarray.Shape.of(value.shape().toArray()));
        HvdTensorFlow.view(tensor).segment().copyFrom(value.segment());
        return tensor;
    }

    /// What a run is fed.
    public static final class Feeds {
        private final List<Consumer<Session.Runner>> all = new ArrayList<>();

        private Feeds() {}

        /// Feeds an input, such as a placeholder.
        ///
        /// @param value stays open until the run returns
        public Feeds feed(Operand<?> input, Tensor value) {
            all.add(runner -> runner.feed(input, value));
            return this;
        }

        /// The same for the name of an input.
        public Feeds feed(String input, Tensor value) {
            all.add(runner -> runner.feed(input, value));
            return this;
        }
    }

    /// The values of a run.
    public static final class Values implements AutoCloseable {
        private final RunParts parts;
        private final SortedMap<Integer, Result> results;

        /// @param results by the number of the part
        private Values(RunParts parts, SortedMap<Integer, Result> results) {
            this.parts = parts;
            this.results = results;
        }

        /// The value of a fetched output, by its position among the fetches. It is valid until this
        /// object is closed.
        public Tensor get(int index) {
            RunParts.Position position = parts.fetchPositions().get(index);
            return Objects.requireNonNull(results.get(position.part())).get(position.index());
        }

        @Override
        public void close() {
            results.values().forEach(Result::close);
        }
    }
}

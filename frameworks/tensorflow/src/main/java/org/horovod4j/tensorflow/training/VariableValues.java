package org.horovod4j.tensorflow.training;

import org.horovod4j.checkpoint.CheckpointFile;
import org.horovod4j.checkpoint.CheckpointFolder;
import org.horovod4j.checkpoint.CheckpointFolder.LoadedCheckpoint;
import org.horovod4j.tensorflow.HvdTensorFlow;
import org.horovod4j.tensorflow.Variables;
import org.horovod4j.training.TensorSpec;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.Tensor;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.types.family.TType;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;

/// Reads and writes the variables of a graph, those of optimizers included.
final class VariableValues {
    private final List<Entry> entries = new ArrayList<>();

    private record Entry(String name, Output<?> variable, Operand<?> value, Op assign) {}

    /// Adds nodes to the graph that overwrite its variables. The graph must have all its variables.
    ///
    /// @throws IllegalArgumentException when it has none
    VariableValues(Graph graph) {
        Ops tf = Ops.create(graph).withSubScope("restore");
        for (Output<?> variable : Variables.of(graph)) {
            entries.add(entry(tf, variable));
        }
        if (entries.isEmpty()) {
            throw new IllegalArgumentException(
                    "the graph has no variables: build the network first");
        }
    }

    private static <T extends TType> Entry entry(Ops tf, Output<T> variable) {
        Operand<T> value = tf.placeholder(variable.type());
        return new Entry(variable.op().name(), variable, value, tf.assign(variable, value));
    }

    /// The values now, in the memory of `result`.
    Map<String, org.horovod4j.Tensor> view(Result result) {
        Map<String, org.horovod4j.Tensor> views = new LinkedHashMap<>();
        for (int i = 0; i < entries.size(); i++) {
            views.put(entries.get(i).name, HvdTensorFlow.view((TType) result.get(i)));
        }
        return views;
    }

    /// Reads all variables.
    Result fetch(Session session) {
        Session.Runner runner = session.runner();
        entries.forEach(entry -> runner.fetch(entry.variable));
        return runner.run();
    }

    /// Copies of all variables of a session.
    static Map<String, org.horovod4j.Tensor> copies(Session session) {
        Map<String, org.horovod4j.Tensor> copies = new LinkedHashMap<>();
        List<Output<?>> variables = Variables.of(session.graph());
        Session.Runner runner = session.runner();
        variables.forEach(runner::fetch);
        try (Result result = runner.run()) {
            for (int i = 0; i < variables.size(); i++) {
                copies.put(
                        variables.get(i).op().name(),
                        HvdTensorFlow.view((TType) result.get(i)).copy());
            }
        }
        return copies;
    }

    /// Overwrites all variables with those of the newest checkpoint.
    ///
    /// @return the metadata of the checkpoint; empty if there is none
    Map<String, String> restoreNewest(Session session, CheckpointFolder folder, boolean mayHaveMore)
            throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            Optional<LoadedCheckpoint> newest = folder.loadNewest(arena);
            if (newest.isEmpty()) {
                return Map.of();
            }
            restore(session, newest.get(), mayHaveMore);
            return newest.get().file().metadata();
        }
    }

    /// @param mayHaveMore whether the checkpoint may have other variables too, such as those of an
    ///     optimizer that this graph does not have
    /// @throws IllegalStateException when variables are missing in the checkpoint, or have other
    ///     types or shapes
    private void restore(Session session, LoadedCheckpoint checkpoint, boolean mayHaveMore) {
        check(session, checkpoint, mayHaveMore);
        Map<String, CheckpointFile.StoredTensor> stored = checkpoint.file().tensors();
        overwrite(
                session,
                name -> {
                    CheckpointFile.StoredTensor tensor =
                            Objects.requireNonNull(stored.get(name), name);
                    return new Value(shape(tensor.spec()), tensor.bytes());
                });
    }

    private static Shape shape(TensorSpec spec) {
        return Shape.of(spec.shape().stream().mapToLong(Long::longValue).toArray());
    }

    /// Overwrites all variables.
    ///
    /// @param tensors by the names of variables
    void overwrite(Session session, Map<String, org.horovod4j.Tensor> tensors) {
        overwrite(
                session,
                name -> {
                    org.horovod4j.Tensor tensor = Objects.requireNonNull(tensors.get(name), name);
                    return new Value(Shape.of(tensor.shape().toArray()), tensor.segment());
                });
    }

    private record Value(Shape shape, MemorySegment bytes) {}

    private void overwrite(Session session, Function<String, Value> source) {
        List<Tensor> values = new ArrayList<>();
        try {
            Session.Runner runner = session.runner();
            for (Entry entry : entries) {
                TType value = copy(entry.variable.type(), source.apply(entry.name));
                values.add(value);
                runner.feed(entry.value, value).addTarget(entry.assign);
            }
            runner.run().close();
        } finally {
            values.forEach(Tensor::close);
        }
    }

    private void check(Session session, LoadedCheckpoint checkpoint, boolean mayHaveMore) {
        List<TensorSpec> own;
        try (Result now = fetch(session)) {
            own = TensorSpec.ofAll(view(now));
        }
        List<String> names = own.stream().map(TensorSpec::name).toList();
        List<TensorSpec> stored =
                checkpoint.file().specs().stream()
                        .filter(spec -> !mayHaveMore || names.contains(spec.name()))
                        .toList();
        List<String> problems = TensorSpec.differences(stored, own);
        if (!problems.isEmpty()) {
            throw new IllegalStateException(
                    """
                    %s is a checkpoint of another network or optimizer: this one %s. Use another folder for \
                    it."""
                            .formatted(checkpoint.path(), String.join("; ", problems)));
        }
    }

    private static TType copy(Class<? extends TType> type, Value value) {
        TType tensor = Tensor.of(type, value.shape);
        HvdTensorFlow.view(tensor).segment().copyFrom(value.bytes);
        return tensor;
    }
}

package org.horovod4j.tensorflow.training;

import org.horovod4j.Communicator;
import org.horovod4j.checkpoint.CheckpointFolder;
import org.horovod4j.tensorflow.HvdOps;
import org.horovod4j.tensorflow.HvdTensorFlow;
import org.horovod4j.tensorflow.PreparedRun;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.proto.ConfigProto;

import java.io.IOException;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Function;

/// A network with the variables of the newest checkpoint, on all ranks.
final class RestoredModel implements AutoCloseable {
    private final Graph graph;
    private final Session session;
    private final ModelSpec model;
    private final int step;

    private RestoredModel(Graph graph, Session session, ModelSpec model, int step) {
        this.graph = graph;
        this.session = session;
        this.model = model;
        this.step = step;
    }

    /// All ranks call this.
    static RestoredModel open(
            Function<Graph, ModelSpec> modelFunction,
            CheckpointFolder folder,
            Communicator communicator,
            Optional<ConfigProto> config) {
        Graph graph = new Graph();
        try {
            ModelSpec model = modelFunction.apply(graph);
            VariableValues variables = new VariableValues(graph);
            Op broadcast =
                    HvdOps.create(Ops.create(graph), communicator).broadcastGlobalVariables(0);
            Session session =
                    new Session(graph, config.orElseGet(() -> HvdTensorFlow.config(communicator)));
            try {
                session.initialize();
                Map<String, String> metadata =
                        folder.onRankZero(
                                communicator,
                                "restore the model",
                                () -> restoreNewest(session, variables, folder));
                PreparedRun.of(session, broadcast).run();
                int step = Integer.parseInt(metadata.getOrDefault(SessionCheckpoints.STEP, "0"));
                return new RestoredModel(graph, session, model, step);
            } catch (RuntimeException | Error e) {
                session.close();
                throw e;
            }
        } catch (RuntimeException | Error e) {
            graph.close();
            throw e;
        }
    }

    /// Restores variables on this rank. The checkpoint also has the variables of optimizers, which
    /// this graph may not have.
    ///
    /// @throws IllegalStateException when there is no checkpoint
    static Map<String, String> restoreNewest(
            Session session, VariableValues variables, CheckpointFolder folder) throws IOException {
        Map<String, String> metadata = variables.restoreNewest(session, folder, true);
        if (metadata.isEmpty()) {
            throw new IllegalStateException(
                    "there is no checkpoint in %s: train first".formatted(folder.folder()));
        }
        return metadata;
    }

    ModelSpec model() {
        return model;
    }

    /// The step of the checkpoint.
    int step() {
        return step;
    }

    /// Computes outputs for each batch.
    ///
    /// @throws IllegalArgumentException when there are no outputs
    void run(
            Iterator<TensorBatch> batches,
            List<Operand<?>> outputs,
            BiConsumer<TensorBatch, Result> consumer) {
        if (outputs.isEmpty()) {
            throw new IllegalArgumentException(
                    "the model has nothing to compute: add metrics to evaluate, and predictions to predict");
        }
        while (batches.hasNext()) {
            try (TensorBatch batch = batches.next()) {
                Session.Runner runner = session.runner();
                model.feed(batch, runner::feed);
                outputs.forEach(runner::fetch);
                try (Result result = runner.run()) {
                    consumer.accept(batch, result);
                }
            }
        }
    }

    @Override
    public void close() {
        session.close();
        graph.close();
    }
}

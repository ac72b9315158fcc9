package org.horovod4j.tensorflow.training;

import org.horovod4j.checkpoint.CheckpointFolder;
import org.horovod4j.tensorflow.kernel.OpType;
import org.tensorflow.Graph;
import org.tensorflow.GraphOperation;
import org.tensorflow.Operand;
import org.tensorflow.SavedModelBundle;
import org.tensorflow.Session;
import org.tensorflow.Signature;
import org.tensorflow.proto.ConfigProto;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;

/// Writes a network with the variables of the newest checkpoint as a SavedModel, on one rank.
final class SavedModelExport {
    private SavedModelExport() {}

    /// @param target gets its name when all of the model is on the disk
    static void write(
            Function<Graph, ModelSpec> modelFunction,
            CheckpointFolder folder,
            ConfigProto config,
            Path target)
            throws IOException {
        if (Files.exists(target)) {
            throw new IllegalStateException(
                    "%s exists: remove it, or use another folder".formatted(target));
        }
        Path partial = target.resolveSibling("." + target.getFileName() + ".partial");
        delete(partial);
        try (Graph graph = new Graph()) {
            ModelSpec model = modelFunction.apply(graph);
            checkNoCollectives(graph);
            Signature signature = signature(graph, model);
            VariableValues variables = new VariableValues(graph);
            try (Session session = new Session(graph, config)) {
                session.initialize();
                Map<String, String> _ = RestoredModel.restoreNewest(session, variables, folder);
                SavedModelBundle.exporter(partial.toString())
                        .withSession(session)
                        .withSignature(signature)
                        .export();
            }
            Files.move(partial, target, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            delete(partial);
        }
    }

    /// A program without Horovod4J does not know our ops.
    private static void checkNoCollectives(Graph graph) {
        graph.operations()
                .forEachRemaining(
                        (GraphOperation node) -> {
                            if (OpType.isOurs(node.type())) {
                                throw new IllegalStateException(
                                        """
                                        the model uses the collective '%s', which other programs do not have
                                        Build it without collectives and without an optimizer in mode PREDICT."""
                                                .formatted(node.name()));
                            }
                        });
    }

    private static Signature signature(Graph graph, ModelSpec model) {
        if (model.predictions().isEmpty()) {
            throw new IllegalStateException("the model has no predictions in mode PREDICT");
        }
        Signature.Builder signature = Signature.builder();
        Set<GraphOperation> used =
                graph.subgraphTo(new HashSet<Operand<?>>(model.predictions().values()));
        model.inputs()
                .forEach(
                        (name, input) -> {
                            if (used.stream().anyMatch(node -> node.equals(input.op()))) {
                                signature.input(name, input);
                            }
                        });
        model.predictions().forEach(signature::output);
        return signature.build();
    }

    private static void delete(Path folder) throws IOException {
        if (!Files.exists(folder)) {
            return;
        }
        List<Path> files;
        try (Stream<Path> found = Files.walk(folder)) {
            files = found.sorted(Comparator.reverseOrder()).toList();
        }
        for (Path file : files) {
            Files.delete(file);
        }
    }
}

package org.horovod4j.tensorflow.training;

import org.horovod4j.checkpoint.CheckpointFolder;
import org.horovod4j.tensorflow.Variables;
import org.horovod4j.tensorflow.kernel.Node;
import org.tensorflow.Graph;
import org.tensorflow.GraphOperation;
import org.tensorflow.Operand;
import org.tensorflow.SavedModelBundle;
import org.tensorflow.Session;
import org.tensorflow.Signature;
import org.tensorflow.proto.ConfigProto;
import org.tensorflow.proto.GraphDef;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// Writes networks as SavedModels, for programs that do not have Horovod4J.
public final class SavedModelExport {
    private SavedModelExport() {}

    /// Writes the part of a graph that computes `outputs`, with the variables of a session. Collectives
    /// and optimizers elsewhere in the graph are left out. One rank calls this:
    ///
    /// ```java
    /// if (Hvd.rank() == 0) {
    ///     SavedModelExport.write(
    ///             session, Map.of("images", images), Map.of("digits", digits), Path.of("model"));
    /// }
    /// ```
    ///
    /// @param inputs what a program feeds, by the name that it uses
    /// @param outputs what it gets, by the name that it uses
    /// @param target a folder that does not exist; gets its name when all of the model is on the disk
    /// @throws IllegalStateException when `target` exists, or a collective computes the outputs
    public static void write(
            Session session,
            Map<String, ? extends Operand<?>> inputs,
            Map<String, ? extends Operand<?>> outputs,
            Path target)
            throws IOException {
        Set<String> used =
                session.graph().subgraphTo(new HashSet<Operand<?>>(outputs.values())).stream()
                        .map(GraphOperation::name)
                        .collect(Collectors.toSet());
        outputs.values().forEach(output -> used.add(output.op().name()));
        GraphDef whole = session.graph().toGraphDef();
        try (Graph part = new Graph()) {
            part.importGraphDef(
                    whole.toBuilder()
                            .clearNode()
                            .addAllNode(
                                    whole.getNodeList().stream()
                                            .filter(node -> used.contains(node.getName()))
                                            .toList())
                            .build());
            checkNoCollectives(part);
            Signature signature = signature(part, in(part, inputs), in(part, outputs));
            try (Session own = new Session(part)) {
                if (!Variables.of(part).isEmpty()) {
                    new VariableValues(part).overwrite(own, VariableValues.copies(session));
                }
                export(own, signature, target);
            }
        }
    }

    /// The same outputs in another graph.
    private static Map<String, Operand<?>> in(
            Graph graph, Map<String, ? extends Operand<?>> operands) {
        Map<String, Operand<?>> found = new LinkedHashMap<>();
        operands.forEach(
                (name, operand) -> {
                    GraphOperation node = graph.operation(operand.op().name());
                    if (node != null) {
                        found.put(name, node.output(operand.asOutput().index()));
                    }
                });
        return found;
    }

    /// Writes a network with the variables of the newest checkpoint, on one rank.
    static void write(
            Function<Graph, ModelSpec> modelFunction,
            CheckpointFolder folder,
            ConfigProto config,
            Path target)
            throws IOException {
        try (Graph graph = new Graph()) {
            ModelSpec model = modelFunction.apply(graph);
            checkNoCollectives(graph);
            if (model.predictions().isEmpty()) {
                throw new IllegalStateException("the model has no predictions in mode PREDICT");
            }
            Signature signature = signature(graph, model.inputs(), model.predictions());
            VariableValues variables = new VariableValues(graph);
            try (Session session = new Session(graph, config)) {
                session.initialize();
                Map<String, String> _ = RestoredModel.restoreNewest(session, variables, folder);
                export(session, signature, target);
            }
        }
    }

    private static void export(Session session, Signature signature, Path target)
            throws IOException {
        if (Files.exists(target)) {
            throw new IllegalStateException(
                    "%s exists: remove it, or use another folder".formatted(target));
        }
        Path absolute = target.toAbsolutePath();
        Path partial = absolute.resolveSibling("." + absolute.getFileName() + ".partial");
        delete(partial);
        try {
            SavedModelBundle.exporter(partial.toString())
                    .withSession(session)
                    .withSignature(signature)
                    .export();
            Files.move(partial, absolute, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            delete(partial);
        }
    }

    /// A program without Horovod4J does not know our ops.
    private static void checkNoCollectives(Graph graph) {
        graph.operations()
                .forEachRemaining(
                        (GraphOperation node) -> {
                            if (Node.functionOf(node).isPresent()) {
                                throw new IllegalStateException(
                                        """
                                        the model uses the collective '%s', which other programs do not have
                                        Build its outputs without collectives and without an optimizer."""
                                                .formatted(node.name()));
                            }
                        });
    }

    /// @param inputs those that no output depends on are left out
    private static Signature signature(
            Graph graph, Map<String, Operand<?>> inputs, Map<String, Operand<?>> outputs) {
        Signature.Builder signature = Signature.builder();
        Set<GraphOperation> used = graph.subgraphTo(new HashSet<Operand<?>>(outputs.values()));
        inputs.forEach(
                (name, input) -> {
                    if (used.stream().anyMatch(node -> node.equals(input.op()))) {
                        signature.input(name, input);
                    }
                });
        outputs.forEach(signature::output);
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

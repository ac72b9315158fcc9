package org.horovod4j.tensorflow;

import org.horovod4j.tensorflow.kernel.FetchFeedNode;
import org.horovod4j.tensorflow.kernel.OpKernels;
import org.jspecify.annotations.Nullable;
import org.tensorflow.Graph;
import org.tensorflow.GraphOperation;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.TensorFlow;
import org.tensorflow.framework.optimizers.Optimizer;
import org.tensorflow.op.Op;
import org.tensorflow.proto.OpDef;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/// The parts of a run: one, or two with collectives in between.
///
/// @param collectives between the parts
/// @param inputPositions of the inputs of collectives in the result of the first part
/// @param fetchPositions of the values that the run returns
record RunParts(
        List<Part> all,
        List<FetchFeedNode> collectives,
        Map<String, Integer> inputPositions,
        List<Position> fetchPositions) {
    /// What a session runs at once. The first of two parts is empty if no collective has inputs.
    record Part(List<Output<?>> fetches, List<Op> targets) {
        /// Fetches an output and returns its position. A session fetches it once.
        private int fetch(Output<?> output) {
            for (int i = 0; i < fetches.size(); i++) {
                if (fetches.get(i).op().equals(output.op())
                        && fetches.get(i).index() == output.index()) {
                    return i;
                }
            }
            fetches.add(output);
            return fetches.size() - 1;
        }

        boolean isEmpty() {
            return fetches.isEmpty() && targets.isEmpty();
        }
    }

    /// A value in the result of a part.
    record Position(int part, int index) {}

    /// The ops that a run of some ops needs.
    ///
    /// @param collectives whose outputs are among them; what is behind these is not
    private record Needed(Map<String, GraphOperation> operations, Set<FetchFeedNode> collectives) {
        static Needed by(Collection<GraphOperation> wanted) {
            Map<String, GraphOperation> operations = new LinkedHashMap<>();
            Set<FetchFeedNode> collectives = new LinkedHashSet<>();
            Deque<GraphOperation> next = new ArrayDeque<>(wanted);
            while (!next.isEmpty()) {
                GraphOperation each = next.pop();
                if (operations.putIfAbsent(each.name(), each) != null) {
                    continue;
                }
                FetchFeedNode collective = FetchFeedNode.of(each).orElse(null);
                if (collective != null) {
                    collectives.add(collective);
                    continue;
                }
                each.inputs().forEach(input -> next.push((GraphOperation) input.op()));
                each.controlInputs().forEach(next::push);
            }
            return new Needed(operations, collectives);
        }
    }

    /// @throws UnsupportedOperationException when collectives depend on each other, or a variable would
    ///     be assigned in both parts, or assigned in the first one and read in the second one
    static RunParts of(
            Graph graph,
            Collection<? extends Operand<?>> fetches,
            Collection<? extends Op> targets) {
        List<GraphOperation> wanted = new ArrayList<>();
        fetches.forEach(fetch -> wanted.add((GraphOperation) fetch.op()));
        targets.forEach(target -> wanted.add((GraphOperation) target.op()));
        List<FetchFeedNode> collectives = List.copyOf(Needed.by(wanted).collectives);
        List<Part> parts = new ArrayList<>();
        parts.add(new Part(new ArrayList<>(), new ArrayList<>()));
        Map<String, Integer> inputPositions = new HashMap<>();
        if (!collectives.isEmpty()) {
            parts.add(new Part(new ArrayList<>(), new ArrayList<>()));
            for (FetchFeedNode node : collectives) {
                for (String input : node.inputs()) {
                    inputPositions.put(input, parts.getFirst().fetch(graph.outputOrThrow(input)));
                }
            }
        }
        List<Position> fetchPositions = new ArrayList<>();
        for (Operand<?> fetch : fetches) {
            int part = partOf((GraphOperation) fetch.op());
            fetchPositions.add(new Position(part, parts.get(part).fetch(fetch.asOutput())));
        }
        targets.forEach(
                target -> parts.get(partOf((GraphOperation) target.op())).targets.add(target));
        if (parts.size() > 1) {
            check(parts.getFirst(), parts.getLast());
        }
        return new RunParts(parts, collectives, inputPositions, fetchPositions);
    }

    /// What depends on no collective is in the first part.
    private static int partOf(GraphOperation operation) {
        return Needed.by(List.of(operation)).collectives.isEmpty() ? 0 : 1;
    }

    private static Needed needed(Part part) {
        List<GraphOperation> wanted = new ArrayList<>();
        part.fetches.forEach(fetch -> wanted.add((GraphOperation) fetch.op()));
        part.targets.forEach(target -> wanted.add((GraphOperation) target.op()));
        return Needed.by(wanted);
    }

    private static void check(Part first, Part second) {
        Needed before = needed(first);
        if (!before.collectives.isEmpty()) {
            throw unsupported(
                    "a collective depends on the result of '%s'"
                            .formatted(before.collectives.iterator().next().name()));
        }
        Map<String, OpDef> definitions =
                TensorFlow.registeredOpList().getOpList().stream()
                        .collect(Collectors.toMap(OpDef::getName, each -> each));
        Set<String> assigned = assigned(before.operations.values(), definitions);
        for (GraphOperation each : needed(second).operations.values()) {
            if (before.operations.containsKey(each.name())
                    && hasEffect(definitions.get(each.type()))) {
                throw unsupported("'%s' would run twice".formatted(each.name()));
            }
            // The graph may order the read before the assignment.
            if (assigned.contains(each.name())) {
                throw unsupported(
                        "'%s' is assigned before the collectives and read after them"
                                .formatted(each.name()));
            }
        }
    }

    /// The names of the variables that ops assign.
    private static Set<String> assigned(
            Collection<GraphOperation> operations, Map<String, OpDef> definitions) {
        Set<String> assigned = new HashSet<>();
        for (GraphOperation each : operations) {
            OpDef definition = definitions.get(each.type());
            for (int i = 0; definition != null && i < definition.getInputArgCount(); i++) {
                if (definition.getInputArg(i).getIsRef()) {
                    assigned.add(each.input(i).op().name());
                }
            }
        }
        return assigned;
    }

    /// Whether an op may change a variable, or have another result in each run.
    ///
    /// @param definition null for a function of the graph
    private static boolean hasEffect(@Nullable OpDef definition) {
        if (definition == null) {
            return true;
        }
        return !definition.getName().equals(Optimizer.VARIABLE_V2)
                && (definition.getIsStateful()
                        || definition.getInputArgList().stream().anyMatch(OpDef.ArgDef::getIsRef));
    }

    private static UnsupportedOperationException unsupported(String reason) {
        return new UnsupportedOperationException(
                "this run cannot be split into a part before and a part after its collectives (%s): %s"
                        .formatted(OpKernels.describe(), reason));
    }
}

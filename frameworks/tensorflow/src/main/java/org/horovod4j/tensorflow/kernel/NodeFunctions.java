package org.horovod4j.tensorflow.kernel;

import org.tensorflow.ExecutionEnvironment;

import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.WeakHashMap;

/// The functions of the nodes in all graphs of this process. A function may hold a communicator, so it is
/// kept only as long as its graph.
final class NodeFunctions {
    private final Map<ExecutionEnvironment, GraphFunctions> graphs = new WeakHashMap<>();
    private long count;

    /// The functions of a graph. They have no references to it.
    private static final class GraphFunctions {
        private final Map<NodeFunction, Long> numbers = new HashMap<>();
        private final Map<Long, NodeFunction> functions = new HashMap<>();
        private final Map<String, FetchFeedNode> fetchFeedNodes = new HashMap<>();
        private int blocking;
    }

    private GraphFunctions of(ExecutionEnvironment graph) {
        return graphs.computeIfAbsent(graph, _ -> new GraphFunctions());
    }

    /// The number of a function in the attributes of nodes. Equal functions of a graph have one number.
    synchronized long number(ExecutionEnvironment graph, NodeFunction function) {
        GraphFunctions ofGraph = of(graph);
        return ofGraph.numbers.computeIfAbsent(
                function,
                _ -> {
                    ofGraph.functions.put(count, function);
                    return count++;
                });
    }

    /// @throws IllegalStateException when there is none
    synchronized NodeFunction get(long number) {
        return graphs.values().stream()
                .map(graph -> graph.functions.get(number))
                .filter(Objects::nonNull)
                .findFirst()
                .orElseThrow(
                        () ->
                                new IllegalStateException(
                                        "an op of Horovod4J was built in another process, or its graph is gone; build it with HvdTensorFlow"));
    }

    /// Counts a node of a graph that can block a thread.
    synchronized void countBlockingNode(ExecutionEnvironment graph) {
        of(graph).blocking++;
    }

    /// How many nodes of a graph can block a thread: the largest number of all graphs.
    synchronized int blocking() {
        return graphs.values().stream().mapToInt(graph -> graph.blocking).max().orElse(0);
    }

    /// Adds a node. The ops that are fed with its outputs stand for it.
    synchronized void add(ExecutionEnvironment graph, FetchFeedNode node) {
        node.outputs().forEach(output -> of(graph).fetchFeedNodes.put(output, node));
    }

    /// The node that an op stands for.
    ///
    /// @param operation the name of the op
    synchronized Optional<FetchFeedNode> fetchFeedNode(
            ExecutionEnvironment graph, String operation) {
        return Optional.ofNullable(of(graph).fetchFeedNodes.get(operation));
    }
}

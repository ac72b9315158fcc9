package org.horovod4j.tensorflow;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.ReduceOp;
import org.horovod4j.compression.Compression;
import org.horovod4j.optim.GradientSettings;
import org.horovod4j.optim.LaunchGroups;
import org.horovod4j.tensorflow.kernel.Node;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.op.Ops;
import org.tensorflow.types.family.TNumber;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/// Adds the collectives that reduce gradients to a graph.
///
/// @param tf of the graph, without a scope
/// @param ranks that share gradients
/// @param sparse variables, by name, of whose gradients only rows that are not zero travel
record GradientNodes(Ops tf, GradientSettings settings, RankGroup ranks, Predicate<String> sparse) {
    /// The collectives of some gradients.
    ///
    /// @param members the positions of the gradients that the node reduces
    private record Launch(Node node, List<Integer> members) {}

    /// The gradients after the reduction. Those of local variables are only scaled.
    List<NamedGradient> reduce(List<NamedGradient> gradients, ReduceOp op) {
        HvdOps hvd = HvdOps.create(tf.withSubScope(settings.prefix()), ranks);
        List<Launch> launches = launches(hvd, gradients, op);
        // none depends on another, so all are submitted before TensorFlow waits for the first
        List<List<Output<?>>> nodes = Node.addAll(launches.stream().map(Launch::node).toList());
        List<NamedGradient> reduced = new ArrayList<>(gradients);
        for (int i = 0; i < launches.size(); i++) {
            List<Integer> members = launches.get(i).members;
            for (int j = 0; j < members.size(); j++) {
                NamedGradient own = gradients.get(members.get(j));
                Output<TNumber> output = HvdOps.typed(nodes.get(i).get(j));
                reduced.set(
                        members.get(j),
                        own.with(isSparse(own, op) ? averageOverPasses(output) : output));
            }
        }
        if (settings.scaleLocalGradients()) {
            for (int i = 0; i < reduced.size(); i++) {
                if (isLocal(gradients.get(i))) {
                    reduced.set(i, divideBySize(hvd, gradients.get(i)));
                }
            }
        }
        return reduced;
    }

    boolean isLocal(NamedGradient gradient) {
        return settings.local().test(gradient.name());
    }

    /// ADASUM combines changes of variables, which are dense.
    private boolean isSparse(NamedGradient gradient, ReduceOp op) {
        return op != ReduceOp.ADASUM && !isLocal(gradient) && sparse.test(gradient.name());
    }

    private List<Launch> launches(HvdOps hvd, List<NamedGradient> gradients, ReduceOp op) {
        List<Integer> dense = new ArrayList<>();
        List<Launch> launches = new ArrayList<>();
        for (int i = 0; i < gradients.size(); i++) {
            NamedGradient each = gradients.get(i);
            if (isSparse(each, op)) {
                HvdOps named = hvd.withName(nodeName(each.name()));
                launches.add(
                        new Launch(named.sparseAllreduceNode(each.gradient(), op), List.of(i)));
            } else {
                dense.add(i);
            }
        }
        LaunchGroups groups =
                LaunchGroups.of(
                        dense.stream().map(i -> gradients.get(i).name()).toList(), settings);
        for (LaunchGroups.Group group : groups.all()) {
            List<Integer> members = group.members().stream().map(dense::get).toList();
            // the prefix is a scope here
            String name = group.name().substring(settings.prefix().length() + 1);
            launches.add(
                    new Launch(
                            hvd.withName(nodeName(name))
                                    .allreduceNode(
                                            members.stream()
                                                    .map(i -> gradients.get(i).gradient())
                                                    .toList(),
                                            options(op)),
                            members));
        }
        return launches;
    }

    private static String nodeName(String variable) {
        return variable.replaceAll("[^A-Za-z0-9_.]", "_");
    }

    private double passes() {
        return settings.averageAccumulated() ? settings.backwardPassesPerStep() : 1;
    }

    private AllreduceOptions options(ReduceOp op) {
        AllreduceOptions options =
                AllreduceOptions.of(op)
                        .withPrescale(1 / (settings.predivideFactor() * passes()))
                        .withPostscale(settings.predivideFactor());
        return settings.compressor() == Compression.NONE
                ? options
                : options.withCompressor(settings.compressor());
    }

    private Operand<TNumber> averageOverPasses(Output<TNumber> sum) {
        return passes() == 1
                ? sum
                : tf.math.mul(sum, tf.dtypes.cast(tf.constant(1 / passes()), sum.type()));
    }

    private NamedGradient divideBySize(HvdOps hvd, NamedGradient local) {
        return local.with(
                tf.math.div(local.gradient(), tf.dtypes.cast(hvd.size(), local.gradient().type())));
    }
}

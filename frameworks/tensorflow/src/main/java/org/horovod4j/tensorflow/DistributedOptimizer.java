package org.horovod4j.tensorflow;

import org.horovod4j.Communicator;
import org.horovod4j.Compressor;
import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.log.Log;
import org.horovod4j.optim.GradientGroups;
import org.horovod4j.optim.GradientSettings;
import org.horovod4j.tensorflow.kernel.KernelMode;
import org.horovod4j.tensorflow.kernel.OpKernels;
import org.horovod4j.training.CommunicatorProvider;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.framework.optimizers.Optimizer;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Variable;
import org.tensorflow.proto.DataType;
import org.tensorflow.types.family.TNumber;
import org.tensorflow.types.family.TType;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

/// Averages gradients over all ranks before another optimizer applies them.
///
/// ```java
/// Optimizer optimizer = new Momentum(graph, 0.01f * Hvd.size(), 0.9f);
/// Op step = DistributedOptimizer.wrap(optimizer).build().minimize(loss);
/// session.runner().feed(images, batch).addTarget(step).run(); // on all ranks
/// ```
///
/// Each gradient is an allreduce in the graph, which starts as soon as backward has computed the
/// gradient and runs while backward computes the others. All variables are updated when all gradients
/// are there. The name of a collective has the name of its variable, so all ranks must give their
/// variables the same names.
///
/// [#computeGradients] returns gradients that are averaged already, so a program may change them
/// before it calls [#applyGradients].
///
/// TensorFlow's gradients in Java are dense, also those of `tf.gather`. [Builder#sparse] sends only
/// rows that are not zero.
public final class DistributedOptimizer extends Optimizer {
    private static final Logger LOG = Log.of(DistributedOptimizer.class);
    private static final String NAME = "DistributedOptimizer";
    private static final Set<DataType> DIFFERENTIABLE =
            Set.of(DataType.DT_HALF, DataType.DT_BFLOAT16, DataType.DT_FLOAT, DataType.DT_DOUBLE);

    private final Optimizer optimizer;
    private final GradientSettings settings;
    private final RankGroup ranks;
    private final Optional<Float> clipNorm;
    private final Ops base;
    private final GradientNodes gradientNodes;
    private final List<GradientAccumulation> accumulations = new ArrayList<>();

    private DistributedOptimizer(Builder builder, GradientSettings settings) {
        super(graph(builder.optimizer));
        this.optimizer = builder.optimizer;
        this.settings = settings;
        this.ranks = new RankGroup(builder.communicator, builder.processSet);
        this.clipNorm = builder.clipNorm;
        this.base = Ops.create(graph);
        this.gradientNodes = new GradientNodes(base, settings, ranks, builder.sparse);
        checkFinish(optimizer, settings);
        checkKernels();
    }

    /// Without our ops a step is two runs with collectives in between.
    private void checkKernels() {
        if (OpKernels.register(ranks.settings().tensorFlowKernels()).mode() != KernelMode.FETCH) {
            return;
        }
        if (settings.backwardPassesPerStep() > 1 || settings.op() == ReduceOp.ADASUM) {
            throw new UnsupportedOperationException(
                    "%s needs collectives inside the graph, which this process cannot have (%s)"
                            .formatted(
                                    settings.op() == ReduceOp.ADASUM
                                            ? "ADASUM"
                                            : "backwardPassesPerStep",
                                    org.horovod4j.option.Options.TENSORFLOW_KERNELS));
        }
    }

    private static Graph graph(Optimizer optimizer) {
        return (Graph) optimizer.getTF().scope().env();
    }

    /// Some optimizers of TensorFlow Java update numbers that all variables share, such as the powers
    /// of Adam, without waiting for the updates of variables, which read them.
    private static void checkFinish(Optimizer optimizer, GradientSettings settings) {
        boolean isAffected =
                List.of("Adam", "Adamax", "Nadam").contains(optimizer.getClass().getSimpleName())
                        && optimizer.getClass().getPackage().equals(Optimizer.class.getPackage());
        if (!isAffected) {
            return;
        }
        String problem =
                "%s of TensorFlow Java changes its powers while it updates variables"
                        .formatted(optimizer.getClass().getSimpleName());
        if (settings.backwardPassesPerStep() > 1) {
            throw new IllegalArgumentException(
                    """
                    %s, also in passes that only accumulate gradients
                    Use org.horovod4j.tensorflow.Adam, or backwardPassesPerStep 1."""
                            .formatted(problem));
        }
        LOG.log(
                Level.WARNING,
                "{0}, so the variables of ranks may drift apart. Use org.horovod4j.tensorflow.Adam.",
                problem);
    }

    /// Starts to wrap an optimizer.
    public static Builder wrap(Optimizer optimizer) {
        return new Builder(optimizer);
    }

    /// The optimizer that applies the gradients.
    public Optimizer wrapped() {
        return optimizer;
    }

    /// Adds the gradients of all variables to the graph, averaged over all ranks.
    ///
    /// @throws IllegalArgumentException when the loss depends on no variable, or is no floating-point
    ///     number
    @Override
    public <T extends TType> List<GradAndVar<?>> computeGradients(Operand<?> loss) {
        DataType type = loss.asOutput().dataType();
        if (!DIFFERENTIABLE.contains(type)) {
            throw new IllegalArgumentException(
                    "loss '%s' has type %s, which has no gradient: convert it with tf.dtypes.cast before the operations that depend on variables"
                            .formatted(loss.op().name(), type));
        }
        List<NamedGradient> gradients =
                LossGradients.of(graph, optimizer, loss).stream().map(NamedGradient::of).toList();
        if (gradients.isEmpty()) {
            throw new IllegalArgumentException(
                    "loss '%s' depends on no variable (tf.variable)".formatted(loss.op().name()));
        }
        if (settings.backwardPassesPerStep() > 1) {
            GradientAccumulation accumulation = new GradientAccumulation(base, settings, gradients);
            accumulations.add(accumulation);
            gradients = accumulation.sums();
        }
        if (takesPart() && settings.op() != ReduceOp.ADASUM) {
            gradients = gradientNodes.reduce(gradients, settings.op());
        }
        return NamedGradient.pairs(
                clipNorm.isPresent()
                        ? GlobalNorm.clip(base, gradients, gradientNodes::isLocal, clipNorm.get())
                        : gradients);
    }

    /// The other ranks of a process set apply their own gradients.
    private boolean takesPart() {
        return ranks.processSet().map(ProcessSet::isIncluded).orElse(true);
    }

    /// Applies gradients of [#computeGradients].
    @Override
    public Op applyGradients(List<GradAndVar<? extends TType>> gradsAndVars, String name) {
        Op applied =
                settings.op() == ReduceOp.ADASUM && takesPart()
                        ? applyChanges(gradsAndVars, name)
                        : optimizer.applyGradients(gradsAndVars, name);
        if (accumulations.isEmpty()) {
            return applied;
        }
        List<Op> resets = new ArrayList<>();
        accumulations.forEach(accumulation -> resets.addAll(accumulation.resetsAfter(applied)));
        accumulations.clear();
        return base.withControlDependencies(resets).noOp();
    }

    /// Adasum: the optimizer of each rank changes the variables, and the ranks combine the changes.
    private Op applyChanges(List<GradAndVar<? extends TType>> gradsAndVars, String name) {
        List<NamedGradient> gradients = gradsAndVars.stream().map(NamedGradient::of).toList();
        List<Operand<TNumber>> starts =
                gradients.stream()
                        .<Operand<TNumber>>map(each -> base.deepCopy(each.variable()))
                        .toList();
        Ops afterStarts = base.withControlDependencies(new ArrayList<Op>(starts));
        Op applied =
                optimizer.applyGradients(
                        NamedGradient.pairs(
                                gradients.stream()
                                        .map(
                                                each ->
                                                        each.with(
                                                                afterStarts.identity(
                                                                        each.gradient())))
                                        .toList()),
                        name);
        Ops afterApply = base.withControlDependencies(List.of(applied));
        List<NamedGradient> changes = new ArrayList<>();
        for (int i = 0; i < gradients.size(); i++) {
            NamedGradient each = gradients.get(i);
            changes.add(
                    each.with(base.math.sub(afterApply.deepCopy(each.variable()), starts.get(i))));
        }
        List<NamedGradient> combined = gradientNodes.reduce(changes, ReduceOp.ADASUM);
        List<Op> assigned = new ArrayList<>();
        for (int i = 0; i < combined.size(); i++) {
            NamedGradient each = combined.get(i);
            if (!gradientNodes.isLocal(each)) {
                assigned.add(
                        base.assign(
                                each.variable(), base.math.add(starts.get(i), each.gradient())));
            }
        }
        return base.withControlDependencies(assigned).noOp();
    }

    /// A variable that the wrapped optimizer keeps for another variable.
    @Override
    public <T extends TType> Optional<Variable<T>> getSlot(Output<T> variable, String slotName) {
        return optimizer.getSlot(variable, slotName);
    }

    /// Not used: the wrapped optimizer updates the variables.
    @Override
    protected <T extends TType> Op applyDense(Ops deps, Output<T> gradient, Output<T> variable) {
        throw new UnsupportedOperationException("the wrapped optimizer updates the variables");
    }

    @Override
    public String getOptimizerName() {
        return NAME;
    }

    /// Options of a distributed optimizer.
    public static final class Builder {
        private final Optimizer optimizer;
        private final GradientSettings.Builder settings = GradientSettings.builder();
        private CommunicatorProvider communicator = CommunicatorProvider.FROM_HVD;
        private Optional<ProcessSet> processSet = Optional.empty();
        private Optional<Float> clipNorm = Optional.empty();
        private Predicate<String> sparse = _ -> false;

        private Builder(Optimizer optimizer) {
            if (optimizer instanceof DistributedOptimizer) {
                throw new IllegalArgumentException(
                        "the optimizer is distributed already: wrap it once");
            }
            this.optimizer = optimizer;
        }

        /// The ranks that share gradients; all ranks of the job by default.
        public Builder communicator(Communicator value) {
            communicator = new CommunicatorProvider(value);
            return this;
        }

        /// Only these ranks share gradients; other ranks apply their own.
        public Builder processSet(ProcessSet value) {
            processSet = Optional.of(value);
            return this;
        }

        /// AVERAGE (the default), SUM or ADASUM, which combines changes of variables.
        public Builder op(ReduceOp op) {
            settings.op(op);
            return this;
        }

        /// Compresses gradients for the exchange.
        public Builder compression(Compressor compressor) {
            settings.compressor(compressor);
            return this;
        }

        /// Accumulates the gradients of `passes` runs before a step; 1 by default. The other runs
        /// exchange nothing and change no variable.
        public Builder backwardPassesPerStep(int passes) {
            settings.backwardPassesPerStep(passes);
            return this;
        }

        /// Divides accumulated gradients by `backwardPassesPerStep`.
        public Builder averageAccumulated(boolean yes) {
            settings.averageAccumulated(yes);
            return this;
        }

        /// Reduces gradients in this number of groups.
        public Builder groups(int count) {
            settings.groups(new GradientGroups.Count(count));
            return this;
        }

        /// Reduces the gradients of these variables together, by name.
        public Builder groups(List<List<String>> variableNames) {
            settings.groups(new GradientGroups.Named(variableNames));
            return this;
        }

        /// Divides gradients by `factor` before they are added, and by the rest afterwards, so that
        /// the sum does not overflow.
        public Builder predivideFactor(double factor) {
            settings.predivideFactor(factor);
            return this;
        }

        /// Variables, by name, that each rank has for itself: their gradients are not reduced.
        public Builder local(Predicate<String> variableName) {
            settings.local(variableName);
            return this;
        }

        /// Whether gradients of local variables are divided by the number of ranks; true by default.
        public Builder scaleLocalGradients(boolean yes) {
            settings.scaleLocalGradients(yes);
            return this;
        }

        /// Variables, by name, such as tables of embeddings, whose gradients have many rows of zeros:
        /// only the other rows travel. TensorFlow computes them as whole tensors all the same. They are
        /// not compressed, and are in no group.
        public Builder sparse(Predicate<String> variableName) {
            sparse = variableName;
            return this;
        }

        /// Scales averaged gradients so that their norm, over all variables that ranks share, is at
        /// most `maximum`.
        public Builder clipByGlobalNorm(float maximum) {
            if (!(maximum > 0)) {
                throw new IllegalArgumentException("the norm is positive, not " + maximum);
            }
            clipNorm = Optional.of(maximum);
            return this;
        }

        /// The scope of the collectives in the graph; `gradient` by default.
        public Builder name(String name) {
            settings.prefix(name);
            return this;
        }

        /// Creates the optimizer.
        ///
        /// @throws IllegalArgumentException when options contradict each other
        public DistributedOptimizer build() {
            GradientSettings built = settings.build();
            if (built.op() == ReduceOp.ADASUM && clipNorm.isPresent()) {
                throw new IllegalArgumentException(
                        "clipByGlobalNorm limits averaged gradients, but ADASUM combines changes of variables");
            }
            return new DistributedOptimizer(this, built);
        }
    }
}

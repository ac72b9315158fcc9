package org.horovod4j.djl;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.nn.Block;
import ai.djl.training.optimizer.Optimizer;

import org.horovod4j.ConfigurationException;
import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.djl.engine.BackwardHooks;
import org.horovod4j.djl.engine.EngineAccess;
import org.horovod4j.libtorch.HookRegistration;
import org.horovod4j.libtorch.ParameterHooks;
import org.horovod4j.log.Log;
import org.horovod4j.optim.GradientReducer;
import org.horovod4j.optim.GradientSettings;
import org.horovod4j.optim.Gradients;
import org.horovod4j.optim.HookFailures;
import org.horovod4j.optim.StepReduction;
import org.horovod4j.optim.overlap.Overlap;
import org.horovod4j.optim.overlap.OverlapDecision;
import org.horovod4j.optim.overlap.OverlapHeuristic;
import org.horovod4j.optim.overlap.OverlapMode;
import org.horovod4j.option.FrameworkSettings;
import org.horovod4j.option.HookChoice;
import org.horovod4j.training.DeviceSupport;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;

/// The gradients of a block, their reducer, and the hooks that call it. A [DistributedOptimizer]
/// creates it once the block has parameters.
final class GradientSynchronizer implements StepReduction.StepGradients, AutoCloseable {
    private static final Logger LOG = Log.of(GradientSynchronizer.class);

    /// The number of threads of PyTorch. DJL sets it after libtorch has read `OMP_NUM_THREADS`.
    private static final String THREADS_PROPERTY = "ai.djl.pytorch.num_threads";

    private final BlockParameters parameters;
    private final Optimizer optimizer;
    private final ProcessSet processSet;
    private final FrameworkSettings frameworkSettings;
    private final EngineAccess access;
    private final BlockGradients gradients;
    private final boolean accumulates;
    private final boolean usesDeltas;
    private final GradientReducer reducer;
    private final BackwardHooks engineHooks;
    private final OverlapDecision overlap;
    private final @Nullable ParameterHooks gradientHooks;
    private final HookFailures hookFailures = new HookFailures(this::rethrowFromHooks);
    private boolean movesGradients;

    /// @param mode whether the program asks for overlap
    GradientSynchronizer(
            Block block,
            Optimizer optimizer,
            ProcessSet processSet,
            GradientSettings settings,
            OverlapMode mode) {
        this.parameters = new BlockParameters(block);
        this.optimizer = optimizer;
        this.processSet = processSet;
        this.frameworkSettings = FrameworkSettings.of(processSet);
        this.access = EngineAccess.of(manager(parameters));
        this.accumulates = access.accumulates();
        checkPasses(settings.backwardPassesPerStep());
        this.gradients =
                new BlockGradients(parameters, access, this::launchesWhenReady, this::usesDevice);
        this.usesDeltas =
                settings.op() == ReduceOp.ADASUM
                        && processSet.isIncluded()
                        && processSet.size() > 1;
        Gradients reduced =
                usesDeltas
                        ? new BlockDeltas(
                                parameters, gradients, access, optimizer, processSet.communicator())
                        : gradients;
        this.reducer = new GradientReducer(processSet, reduced, settings);
        this.movesGradients = !usesDeltas && !reducer.isSingleRank() && isUncompressed(settings);
        this.engineHooks =
                mode == OverlapMode.NEVER
                        ? new BackwardHooks.Unavailable("switched off by overlap(false)")
                        : access.hooks(frameworkSettings.gradientHooks());
        this.overlap =
                mode == OverlapMode.AUTO && !usesDeltas && !reducer.isSingleRank()
                        ? overlapByHeuristic(settings)
                        : OverlapDecision.always();
        this.gradientHooks =
                switch (engineHooks) {
                    case BackwardHooks.Available working ->
                            new ParameterHooks(
                                    new HookedParameters(parameters, working), this::gradientAdded);
                    case BackwardHooks.Unavailable _ -> null;
                };
        attachNewHooks();
    }

    private void checkPasses(int perStep) {
        if (perStep > 1 && !accumulates) {
            throw new IllegalArgumentException(
                    """
                    backwardPassesPerStep is %d, but each backward pass of this engine overwrites the gradients
                    Leave it at 1 and use larger batches or more ranks, or train with PyTorch."""
                            .formatted(perStep));
        }
    }

    private static NDManager manager(BlockParameters parameters) {
        return parameters.trainable().stream()
                .mapToObj(parameters::array)
                .findFirst()
                .orElseThrow(
                        () ->
                                new IllegalStateException(
                                        """
                                        the block has no trainable parameters
                                        Call trainer.initialize, or unfreeze a parameter, before the first step."""))
                .getManager();
    }

    /// With a compressor, gradients need not be in shared memory: it copies them.
    private static boolean isUncompressed(GradientSettings settings) {
        return settings.compressor().equals(GradientSettings.DEFAULT.compressor());
    }

    /// If overlap does not pay, hooks are still attached and count passes. Otherwise the allowed
    /// calls of a program would depend on the machine.
    private OverlapDecision overlapByHeuristic(GradientSettings settings) {
        Device device = manager(parameters).getDevice();
        OverlapHeuristic heuristic =
                OverlapHeuristic.of(
                        processSet,
                        device.getDeviceType().equals(Device.Type.CPU),
                        threads(Integer.getInteger(THREADS_PROPERTY, 0), frameworkSettings));
        boolean pays =
                heuristic.overlapPays() || frameworkSettings.gradientHooks() == HookChoice.ON;
        return OverlapDecision.negotiated(
                settings.prefix() + " overlap",
                pays,
                heuristic.reasonAgainst() + "; overlap(true) overlaps anyway");
    }

    /// The number of threads that PyTorch computes with: by default one for each processor.
    ///
    /// @param property that of [#THREADS_PROPERTY]; 0 if it is not set
    static int threads(int property, FrameworkSettings settings) {
        return property > 0
                ? property
                : settings.openMpThreads()
                        .orElseGet(() -> Runtime.getRuntime().availableProcessors());
    }

    /// A single rank, or a rank outside the process set, reduces nothing and copies nothing.
    private boolean usesDevice(org.horovod4j.Device device) {
        return !processSet.isIncluded()
                || processSet.size() == 1
                || DeviceSupport.isAvailable(processSet.communicator(), device);
    }

    /// Without hooks, gradients are ready when the step begins.
    private boolean launchesWhenReady() {
        return gradientHooks == null || overlap.overlaps();
    }

    private void gradientAdded(int parameter) {
        if (!gradients.isDefining()) {
            reducer.ready(parameter);
        }
    }

    /// Attaches hooks to parameters that were unfrozen or replaced since the last step.
    void attachNewHooks() {
        if (gradientHooks != null) {
            gradientHooks.attachNew();
        }
    }

    BlockParameters parameters() {
        return parameters;
    }

    @Override
    public GradientReducer reducer() {
        return reducer;
    }

    /// @throws IllegalArgumentException when the engine cannot accumulate gradients
    void backwardPassesPerStep(int passes) {
        checkPasses(passes);
        reducer.backwardPassesPerStep(passes);
    }

    @Override
    public boolean hasHooks() {
        return gradientHooks != null;
    }

    Overlap overlap() {
        return switch (engineHooks) {
            case BackwardHooks.Unavailable(String reason) ->
                    new Overlap(false, reason, reducer.timing());
            case BackwardHooks.Available _ when usesDeltas ->
                    new Overlap(
                            false,
                            "Adasum reduces changes of weights, which exist after a step only",
                            reducer.timing());
            case BackwardHooks.Available _ ->
                    new Overlap(overlap.overlaps(), overlap.reason(), reducer.timing());
        };
    }

    @Override
    public void synchronize() {
        hookFailures.throwAfter(
                () -> {
                    overlap.agree(processSet);
                    reducer.synchronize();
                });
        if (movesGradients) {
            moveGradients();
        }
    }

    private void rethrowFromHooks() {
        access.rethrow();
        if (gradientHooks != null) {
            gradientHooks.rethrow();
        }
    }

    /// If there is not enough shared memory, gradients stay where they are and are copied in each
    /// reduction.
    private void moveGradients() {
        try {
            gradients.moveToOwnMemory(processSet.communicator(), i -> !reducer.isLocal(i));
        } catch (ConfigurationException e) {
            movesGradients = false;
            LOG.log(
                    Level.WARNING,
                    "gradients are copied, because they do not fit into shared memory: {0}",
                    e.getMessage());
        }
    }

    /// Updates all parameters with the wrapped optimizer, including those that DJL leaves out
    /// because this rank did not use them: other ranks may have used them.
    void applyAll() {
        parameters.trainable().stream().forEach(i -> apply(i, parameters.array(i)));
    }

    /// @throws IllegalStateException when the engine keeps weights outside the block and would
    ///     overwrite the result of Adasum
    void checkForeignWeights() {
        if (usesDeltas) {
            throw new IllegalStateException(
                    """
                    Adasum changes the weights of the block, but the engine keeps copies and would overwrite them
                    Start Java with -Dai.djl.use_local_parameter_server=true, or reduce by AVERAGE.""");
        }
    }

    void apply(int parameter, NDArray weight) {
        if (!usesDeltas) {
            try (NDArray gradient = gradients.gradientToApply(parameter)) {
                optimizer.update(parameters.id(parameter), weight, gradient);
            }
        }
        if (!accumulates) {
            // otherwise a parameter without a gradient in the next pass would be updated twice
            gradients.clear(parameter);
        }
    }

    /// Sets all gradients to zero.
    void clear() {
        gradients.clear();
    }

    /// Removes the hooks and waits for pending reductions. Gradients stay in their memory.
    @Override
    public void close() {
        if (gradientHooks != null) {
            gradientHooks.close();
        }
        hookFailures.discard(reducer);
    }

    private record HookedParameters(BlockParameters parameters, BackwardHooks.Available hooks)
            implements ParameterHooks.Target {
        @Override
        public int count() {
            return parameters.count();
        }

        @Override
        public boolean requiresGradient(int parameter) {
            return parameters.isTrainable(parameter)
                    && hooks.requiresGradient(parameters.array(parameter));
        }

        @Override
        public Object tensorId(int parameter) {
            return parameters.array(parameter).getUid();
        }

        @Override
        public HookRegistration attach(int parameter, Runnable hook) {
            return hooks.onGradient(parameters.array(parameter), hook);
        }
    }
}

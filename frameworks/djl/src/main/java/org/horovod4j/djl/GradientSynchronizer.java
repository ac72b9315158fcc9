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
import org.horovod4j.log.Log;
import org.horovod4j.optim.GradientReducer;
import org.horovod4j.optim.GradientSettings;
import org.horovod4j.optim.Gradients;
import org.horovod4j.optim.overlap.Overlap;
import org.horovod4j.optim.overlap.OverlapDecision;
import org.horovod4j.optim.overlap.OverlapHeuristic;
import org.horovod4j.optim.overlap.OverlapMode;
import org.horovod4j.option.FrameworkSettings;
import org.horovod4j.option.HookChoice;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;

/// What there is of a distributed optimizer once the block has parameters: their gradients, the
/// reducer that they go through, and the hooks that tell it when.
final class GradientSynchronizer implements AutoCloseable {
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
    private final @Nullable GradientHooks gradientHooks;
    private boolean movesGradients;

    /// @param wish whether gradients are to travel during backward passes
    GradientSynchronizer(
            Block block,
            Optimizer optimizer,
            ProcessSet processSet,
            GradientSettings settings,
            OverlapMode wish) {
        this.parameters = new BlockParameters(block);
        this.optimizer = optimizer;
        this.processSet = processSet;
        this.frameworkSettings = FrameworkSettings.of(processSet.communicator());
        this.access = EngineAccess.of(manager(parameters));
        this.accumulates = access.accumulates();
        checkPasses(settings.backwardPassesPerStep());
        this.gradients = new BlockGradients(parameters, access, this::launchesWhenReady);
        this.usesDeltas =
                settings.op() == ReduceOp.ADASUM
                        && processSet.isIncluded()
                        && processSet.size() > 1;
        Gradients lent =
                usesDeltas
                        ? new BlockDeltas(
                                parameters, gradients, access, optimizer, processSet.communicator())
                        : gradients;
        this.reducer = new GradientReducer(processSet, lent, settings);
        this.movesGradients = !usesDeltas && !reducer.isSingleRank() && isUncompressed(settings);
        this.engineHooks =
                wish == OverlapMode.NEVER
                        ? new BackwardHooks.Unavailable("switched off by overlap(false)")
                        : access.hooks(frameworkSettings.gradientHooks());
        this.overlap =
                wish == OverlapMode.AUTO && !usesDeltas && !reducer.isSingleRank()
                        ? overlapByHeuristic(settings)
                        : OverlapDecision.always();
        this.gradientHooks =
                switch (engineHooks) {
                    case BackwardHooks.Available working ->
                            new GradientHooks(working, parameters, this::gradientAdded);
                    case BackwardHooks.Unavailable _ -> null;
                };
        attachNewHooks();
    }

    private void checkPasses(int perStep) {
        if (perStep > 1 && !accumulates) {
            throw new IllegalArgumentException(
                    """
                    backwardPassesPerStep is %d, but a backward pass of this engine overwrites the gradients of \
                    the one before
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
                                        the block has no parameters that could be trained
                                        Call trainer.initialize, or thaw a parameter, before the first step."""))
                .getManager();
    }

    /// A compressor copies gradients in any case.
    private static boolean isUncompressed(GradientSettings settings) {
        return settings.compressor().equals(GradientSettings.DEFAULT.compressor());
    }

    /// Hooks that only count passes are attached all the same where overlap does not pay: what a program
    /// may do between two steps must not depend on the machine that it runs on.
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

    /// Without hooks gradients are ready when the step says so.
    private boolean launchesWhenReady() {
        return gradientHooks == null || overlap.overlaps();
    }

    private void gradientAdded(int parameter) {
        if (!gradients.isDefining()) {
            reducer.ready(parameter);
        }
    }

    /// Puts hooks on what was thawed or replaced since the last step.
    void attachNewHooks() {
        if (gradientHooks != null) {
            gradientHooks.attachNew();
        }
    }

    BlockParameters parameters() {
        return parameters;
    }

    GradientReducer reducer() {
        return reducer;
    }

    /// @throws IllegalArgumentException when the engine cannot accumulate so many
    void backwardPassesPerStep(int passes) {
        checkPasses(passes);
        reducer.backwardPassesPerStep(passes);
    }

    boolean hasHooks() {
        return gradientHooks != null;
    }

    Overlap overlap() {
        return switch (engineHooks) {
            case BackwardHooks.Unavailable(String reason) ->
                    new Overlap(false, reason, reducer.timing());
            case BackwardHooks.Available _ when usesDeltas ->
                    new Overlap(
                            false,
                            "Adasum combines changes of weights, which steps make",
                            reducer.timing());
            case BackwardHooks.Available _ ->
                    new Overlap(overlap.overlaps(), overlap.reason(), reducer.timing());
        };
    }

    /// Reduces first and tells of hooks that failed afterwards, or what is under way would never be
    /// waited for.
    @SuppressWarnings("ReferenceEquality") // one exception, not two alike
    void synchronize() {
        try {
            overlap.agree(processSet);
            reducer.synchronize();
        } catch (RuntimeException | Error e) {
            try {
                rethrowFromHooks();
            } catch (RuntimeException | Error ofHook) {
                if (ofHook != e) { // a lost peer is the same one everywhere
                    e.addSuppressed(ofHook);
                }
            }
            throw e;
        }
        rethrowFromHooks();
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

    /// Without room for them gradients stay where they are, and are copied on their way.
    private void moveGradients() {
        try {
            gradients.moveToSharedMemory(processSet.communicator(), i -> !reducer.isLocal(i));
        } catch (ConfigurationException e) {
            movesGradients = false;
            LOG.log(
                    Level.WARNING,
                    "gradients are copied, as they do not fit into shared memory: {0}",
                    e.getMessage());
        }
    }

    /// Lets the wrapped optimizer update all parameters, those too that DJL leaves out because this
    /// rank has never used them: others may have.
    void applyAll() {
        parameters.trainable().stream().forEach(i -> apply(i, parameters.array(i)));
    }

    /// @throws IllegalStateException when weights that the engine keeps elsewhere would miss a step
    void checkForeignWeights() {
        if (usesDeltas) {
            throw new IllegalStateException(
                    """
                    Adasum changes the weights of the block, but the engine keeps others and would undo that
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
            // or a parameter that the next pass does not come to would be updated by this step's
            // again
            gradients.clear(parameter);
        }
    }

    /// Leaves no gradient of what was computed before.
    void clear() {
        gradients.clear();
    }

    /// Takes the hooks off and ends what is under way. Gradients stay where they are, in memory
    /// that their arrays keep.
    @Override
    public void close() {
        if (gradientHooks != null) {
            gradientHooks.close();
        }
        reducer.abandon().ifPresent(GradientSynchronizer::logAbandoned);
        try {
            rethrowFromHooks();
        } catch (RuntimeException | Error e) {
            logAbandoned(e);
        }
    }

    private static void logAbandoned(Throwable failure) {
        LOG.log(Level.DEBUG, "what failed in a window that was abandoned", failure);
    }
}

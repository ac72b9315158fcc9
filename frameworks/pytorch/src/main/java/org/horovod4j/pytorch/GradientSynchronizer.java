package org.horovod4j.pytorch;

import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.horovod4j.ConfigurationException;
import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.libtorch.HookRegistration;
import org.horovod4j.libtorch.ParameterHooks;
import org.horovod4j.libtorch.TorchHooks;
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
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Map;

/// The gradients of parameters, their reducer, and the hooks that call it.
final class GradientSynchronizer implements StepReduction.StepGradients, AutoCloseable {
    private static final Logger LOG = Log.of(GradientSynchronizer.class);

    private final Optimizer optimizer;
    private final ProcessSet processSet;
    private final ParameterGradients gradients;
    private final @Nullable ParameterDeltas deltas;
    private final GradientReducer reducer;
    private final OverlapDecision overlap;
    private final @Nullable ParameterHooks hooks;
    private final HookFailures hookFailures = new HookFailures(this::rethrowFromHooks);
    private final String reasonAgainstHooks;
    private boolean movesGradients;

    /// @param mode whether the program asks for overlap
    GradientSynchronizer(
            Map<String, Tensor> parameters,
            Optimizer optimizer,
            ProcessSet processSet,
            GradientSettings settings,
            OverlapMode mode) {
        this.optimizer = optimizer;
        this.processSet = processSet;
        this.gradients = new ParameterGradients(parameters, this::launchesWhenReady);
        boolean isAlone = !processSet.isIncluded() || processSet.size() == 1;
        this.deltas =
                settings.op() == ReduceOp.ADASUM && !isAlone
                        ? new ParameterDeltas(gradients, optimizer)
                        : null;
        Gradients reduced = deltas == null ? gradients : deltas;
        this.reducer = new GradientReducer(processSet, reduced, settings);
        this.movesGradients = deltas == null && !isAlone && isUncompressed(settings);
        FrameworkSettings frameworkSettings = FrameworkSettings.of(processSet);
        HookAttempt attempt =
                mode == OverlapMode.NEVER
                        ? new HookAttempt(null, "switched off by overlap(false)")
                        : HookAttempt.of(frameworkSettings.gradientHooks());
        this.reasonAgainstHooks = attempt.reason;
        this.hooks =
                attempt.hooks == null
                        ? null
                        : new ParameterHooks(new Hooked(gradients, attempt.hooks), this::ready);
        this.overlap =
                mode == OverlapMode.AUTO && deltas == null && !isAlone
                        ? overlapByHeuristic(settings, frameworkSettings)
                        : OverlapDecision.always();
        attachNewHooks();
    }

    /// Hooks, or the reason why there are none.
    private record HookAttempt(@Nullable TorchHooks hooks, String reason) {
        static HookAttempt of(HookChoice choice) {
            try {
                return new HookAttempt(TorchAutograd.hooks(choice), "");
            } catch (UnsupportedOperationException e) {
                return new HookAttempt(null, String.valueOf(e.getMessage()));
            }
        }
    }

    /// With a compressor, gradients need not be in shared memory: it copies them.
    private static boolean isUncompressed(GradientSettings settings) {
        return settings.compressor().equals(GradientSettings.DEFAULT.compressor());
    }

    /// If overlap does not pay, hooks are still attached and count passes. Otherwise the allowed calls of
    /// a program would depend on the machine.
    private OverlapDecision overlapByHeuristic(
            GradientSettings settings, FrameworkSettings frameworkSettings) {
        boolean isCpu =
                gradients.trainable().mapToObj(gradients::parameter).allMatch(Tensor::is_cpu);
        OverlapHeuristic heuristic =
                OverlapHeuristic.of(processSet, isCpu, torch.get_num_threads());
        return OverlapDecision.negotiated(
                settings.prefix() + " overlap",
                heuristic.overlapPays() || frameworkSettings.gradientHooks() == HookChoice.ON,
                heuristic.reasonAgainst() + "; overlap(true) overlaps anyway");
    }

    /// Without hooks, gradients are ready when the step begins.
    private boolean launchesWhenReady() {
        return hooks == null || overlap.overlaps();
    }

    private void ready(int parameter) {
        reducer.ready(parameter);
    }

    /// Attaches hooks to parameters that were unfrozen since the last step.
    void attachNewHooks() {
        if (hooks != null) {
            hooks.attachNew();
        }
    }

    @Override
    public GradientReducer reducer() {
        return reducer;
    }

    @Override
    public boolean hasHooks() {
        return hooks != null;
    }

    Overlap overlap() {
        if (hooks == null) {
            return new Overlap(false, reasonAgainstHooks, reducer.timing());
        }
        if (deltas != null) {
            return new Overlap(
                    false,
                    "Adasum reduces changes of weights, which exist after a step only",
                    reducer.timing());
        }
        return new Overlap(overlap.overlaps(), overlap.reason(), reducer.timing());
    }

    @Override
    public void synchronize() {
        if (deltas == null) {
            reduce();
        } else {
            deltas.step(this::reduce);
        }
        if (movesGradients) {
            moveGradients();
        }
    }

    private void reduce() {
        hookFailures.throwAfter(
                () -> {
                    overlap.agree(processSet);
                    reducer.synchronize();
                });
    }

    private void rethrowFromHooks() {
        TorchLibrary.runtime().deferredFailures().rethrow();
        if (hooks != null) {
            hooks.rethrow();
        }
    }

    /// If there is not enough shared memory, gradients stay where they are and are copied in each
    /// reduction.
    private void moveGradients() {
        try {
            gradients.moveToSharedMemory(processSet.communicator(), i -> !reducer.isLocal(i));
        } catch (ConfigurationException e) {
            movesGradients = false;
            LOG.log(
                    Level.WARNING,
                    "gradients are copied, because they do not fit into shared memory: {0}",
                    e.getMessage());
        }
    }

    /// Updates all parameters, unless the reduction of Adasum has done so.
    void apply() {
        if (deltas == null) {
            optimizer.step();
        }
    }

    /// Sets all gradients to zero.
    void clear() {
        gradients.clear();
    }

    /// Removes the hooks and waits for pending reductions. Gradients stay in their memory.
    @Override
    public void close() {
        if (hooks != null) {
            hooks.close();
        }
        hookFailures.discard(reducer);
    }

    private record Hooked(ParameterGradients gradients, TorchHooks hooks)
            implements ParameterHooks.Target {
        @Override
        public int count() {
            return gradients.names().size();
        }

        @Override
        public boolean requiresGradient(int parameter) {
            return gradients.isTrainable(parameter);
        }

        @Override
        public Object tensorId(int parameter) {
            return parameter; // a module keeps its tensors
        }

        @Override
        public HookRegistration attach(int parameter, Runnable hook) {
            return hooks.onGradient(gradients.parameter(parameter).address(), hook);
        }
    }
}

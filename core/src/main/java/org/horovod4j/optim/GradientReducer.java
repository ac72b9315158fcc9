package org.horovod4j.optim;

import org.horovod4j.DeviceStream;
import org.horovod4j.Handle;
import org.horovod4j.ProcessSet;
import org.horovod4j.Scale;
import org.horovod4j.Tensor;
import org.horovod4j.optim.LaunchGroups.Group;
import org.horovod4j.option.FrameworkSettings;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/// Reduces the gradients of one training step after another.
///
/// The [GradientSettings#backwardPassesPerStep] backward passes of a step are its *accumulation
/// window*. The adapter calls [#ready] after a pass has accumulated a gradient. After the last pass
/// of the window the gradient is launched: its reduction is submitted. Gradients are launched in
/// the order in which they become ready, so communication overlaps with the computation of earlier
/// layers. [#synchronize] launches the remaining gradients, waits for all, and begins the next
/// window. A rank that did not use a parameter contributes zeros or no rows, so ranks may take
/// different branches.
///
/// An adapter without hooks on gradients calls [#backwardPassCompleted] after each backward pass.
///
/// Threads of a framework may call [#ready] while another thread synchronizes. Costs one lock and,
/// for a launch, one submission.
public final class GradientReducer {
    private final ProcessSet processSet;
    private final Gradients gradients;
    private final List<String> names;
    private final LaunchGroups groups;
    private final GradientLayouts layouts;
    private final GradientArithmetic gradientArithmetic;
    private final OverlapTimer overlapTimer = new OverlapTimer();
    private final ParameterCheck parameterCheck;

    private GradientSettings settings;
    private GradientReduction gradientReduction;

    /// The passes of this window that have accumulated each gradient.
    private final int[] passes;

    /// The calls of `step()` by the program in this window.
    private int steps;

    private final boolean[] launched;
    private final List<Launch> launches = new ArrayList<>();
    private @Nullable Throwable failure;

    /// A reduction that was submitted.
    ///
    /// @param parameters the parameters of its results, in this order
    private record Launch(List<Integer> parameters, Handle<List<Gradient>> handle) {}

    /// @throws IllegalArgumentException when a name is empty or occurs twice, or groups contain
    ///     unknown names
    public GradientReducer(ProcessSet processSet, Gradients gradients, GradientSettings settings) {
        this.processSet = processSet;
        this.gradients = gradients;
        this.gradientArithmetic = new GradientArithmetic(gradients);
        this.names = List.copyOf(gradients.names());
        this.groups = LaunchGroups.of(names, settings, gradients::bytesOnDevice);
        this.settings = settings;
        this.gradientReduction = reductionOf(settings);
        this.layouts = newLayouts();
        this.parameterCheck =
                new ParameterCheck(
                        processSet,
                        gradients,
                        parameter -> !groups.isLocal(parameter),
                        settings.prefix() + " parameter check",
                        isSingleRank() ? 0 : checkInterval());
        this.passes = new int[names.size()];
        this.launched = new boolean[names.size()];
    }

    /// A single rank, or a rank outside the process set, reduces nothing.
    private GradientReduction reductionOf(GradientSettings chosen) {
        double mean = chosen.averageAccumulated() ? 1.0 / chosen.backwardPassesPerStep() : 1.0;
        if (!processSet.isIncluded() || processSet.size() == 1) {
            return new LocalReduction(gradientArithmetic, mean);
        }
        double factor = chosen.predivideFactor();
        return new DistributedReduction(
                processSet.communicator(),
                chosen.op(),
                chosen.compressor(),
                new Scale(mean / factor, factor),
                gradientArithmetic);
    }

    private int checkInterval() {
        return settings.parameterCheckInterval()
                .orElseGet(() -> FrameworkSettings.of(processSet).parameterCheckInterval());
    }

    private GradientLayouts newLayouts() {
        return gradients instanceof SparseGradients sparse
                        && !isSingleRank()
                        && !settings.sparseAsDense()
                ? new NegotiatedLayouts(
                        sparse,
                        processSet.communicator(),
                        settings.prefix() + " layouts",
                        gradientArithmetic)
                : new GradientLayouts.Fixed(gradients);
    }

    /// Whether only this rank takes part, so that gradients stay on it.
    public synchronized boolean isSingleRank() {
        return gradientReduction.size() == 1;
    }

    /// Whether the parameter is left out of the reduction.
    public boolean isLocal(int parameter) {
        return groups.isLocal(parameter);
    }

    /// Changes the length of accumulation windows, starting with the next one.
    ///
    /// @throws IllegalStateException in the middle of a window
    public synchronized void backwardPassesPerStep(int count) {
        int done = Math.max(passes(), steps);
        if (done > 0) {
            throw new IllegalStateException(
                    """
                    backwardPassesPerStep cannot be set to %d now: %d of %d backward passes of this step are done
                    Change it between a step and the next backward pass."""
                            .formatted(count, done, settings.backwardPassesPerStep()));
        }
        settings = settings.withBackwardPassesPerStep(count);
        gradientReduction = reductionOf(settings);
    }

    /// Counts a backward pass that has accumulated the gradient. After the last pass of the window,
    /// launches it.
    ///
    /// Never throws, since frameworks call it from native code. [#synchronize] throws its
    /// exceptions.
    public synchronized void ready(int parameter) {
        ready(parameter, false);
    }

    /// Counts a backward pass for all trainable parameters, the last ones first.
    public synchronized void backwardPassCompleted() {
        for (int parameter = names.size() - 1; parameter >= 0; parameter--) {
            if (gradients.isTrainable(parameter)) {
                ready(parameter, true);
            }
        }
    }

    /// @param byStep whether the step, and not a hook during backward, counts the pass
    private void ready(int parameter, boolean byStep) {
        try {
            count(parameter, byStep);
        } catch (RuntimeException | Error e) {
            recordFailure(e);
        }
    }

    private void count(int parameter, boolean byStep) {
        int expected = settings.backwardPassesPerStep();
        int pass = ++passes[parameter];
        if (pass > expected) {
            throw new IllegalStateException(
                    """
                    the gradient of '%s' was computed %d times since the last step, but \
                    backwardPassesPerStep is %d
                    Call step() after each %s, or set backwardPassesPerStep to the number of passes \
                    that you accumulate."""
                            .formatted(
                                    names.get(parameter),
                                    pass,
                                    expected,
                                    expected == 1
                                            ? "backward pass"
                                            : expected + " backward passes"));
        }
        boolean isLast = pass == expected;
        if (isLast && gradients.canAcquireDuringBackward() && !groups.isLocal(parameter)) {
            Group group = groups.of(parameter);
            if (group.members().stream().allMatch(this::isReady)
                    && layouts.canLaunch(trainableMembers(group))) {
                launch(group, byStep);
            }
        }
    }

    private List<Integer> trainableMembers(Group group) {
        return group.members().stream().filter(gradients::isTrainable).toList();
    }

    /// A group does not wait for frozen parameters.
    private boolean isReady(int parameter) {
        return passes[parameter] >= settings.backwardPassesPerStep()
                || !gradients.isTrainable(parameter);
    }

    /// The number of backward passes in this window: the maximum over all gradients, since a pass
    /// need not compute all of them.
    public synchronized int passes() {
        return Arrays.stream(passes).max().orElse(0);
    }

    /// Counts a call of `step()`. A program may call it after each backward pass, or only after the
    /// last one of the window. Both passes and steps are counted, because neither is sufficient: a
    /// gradient that only some passes compute shows too few of them, and ranks that take different
    /// branches would count differently.
    public synchronized void stepRequested() {
        steps++;
    }

    /// Whether the window is complete, by the number of passes or of steps.
    public synchronized boolean isComplete() {
        return Math.max(passes(), steps) >= settings.backwardPassesPerStep();
    }

    /// Launches the gradients that are not launched yet, even if the window is incomplete, waits
    /// for all, passes the results to [Gradients#setReduced] and begins a new window. In the first
    /// step, and then once in a number of steps, checks that all ranks have the same parameters.
    ///
    /// @throws IllegalStateException when there were more backward passes than a window has
    /// @throws org.horovod4j.MismatchException when the parameters of the ranks differ
    /// @throws org.horovod4j.HorovodException when a reduction failed
    public synchronized void synchronize() {
        Throwable first = finishWindow();
        overlapTimer.stepCompleted();
        switch (first) {
            case null -> parameterCheck.countStep();
            case Error error -> throw error;
            case RuntimeException exception -> throw exception;
            default -> throw new IllegalStateException(first);
        }
    }

    /// Ends an accumulation window without a step. Its gradients are undefined afterwards, and
    /// their memory is no longer in use. All ranks call this after the same backward pass. After
    /// the loss of a peer the reductions fail.
    ///
    /// @return the first failure, for the log
    public synchronized Optional<Throwable> discard() {
        // This rank must take part in reductions that others have launched. If passes launch
        // nothing, there are none.
        boolean isOpen = passes() > 0 && gradients.canAcquireDuringBackward();
        Throwable failed = isOpen ? finishWindow() : null;
        overlapTimer.windowDiscarded();
        beginWindow();
        return Optional.ofNullable(failed);
    }

    /// Launches the remaining gradients, waits for all, and begins a new window.
    private @Nullable Throwable finishWindow() {
        try {
            if (failure == null) {
                launchMissing();
            }
        } catch (RuntimeException | Error e) {
            recordFailure(e);
        }
        overlapTimer.waitStarted();
        Optional<DeviceStream> stream = gradients.stream();
        for (Launch launch : launches) {
            finish(launch, stream);
        }
        Throwable first = failure;
        beginWindow();
        return first;
    }

    private void beginWindow() {
        Arrays.fill(passes, 0);
        steps = 0;
        Arrays.fill(launched, false);
        layouts.beginWindow();
        launches.clear();
        failure = null;
    }

    public synchronized OverlapTiming timing() {
        return overlapTimer.timing();
    }

    private void launchMissing() {
        layouts.negotiate(i -> !groups.isLocal(i) && gradients.isTrainable(i));
        for (Group group : inLaunchOrder()) {
            launch(group, true);
        }
        for (int parameter = 0; parameter < names.size(); parameter++) {
            if (groups.isLocal(parameter) && gradients.isTrainable(parameter)) {
                scaleLocalGradient(parameter);
            }
        }
    }

    /// If passes launch nothing, all groups are launched here: the last ones first, as passes would
    /// do. That is also their order in memory.
    private List<Group> inLaunchOrder() {
        return gradients.canAcquireDuringBackward() ? groups.all() : groups.all().reversed();
    }

    /// Launches the members of a group that take part in this step and are not launched yet. It
    /// skips parameters that have a gradient on no rank.
    private void launch(Group group, boolean byStep) {
        if (gradientReduction.isIdentity()) {
            return;
        }
        List<Integer> dense = new ArrayList<>();
        List<Tensor> tensors = new ArrayList<>();
        for (int parameter : trainableMembers(group)) {
            if (launched[parameter] || layouts.isAbsent(parameter)) {
                continue;
            }
            launched[parameter] = true;
            overlapTimer.launched(1, byStep);
            switch (layouts.acquire(parameter)) {
                case Gradient.Dense(Tensor tensor) -> {
                    dense.add(parameter);
                    tensors.add(tensor);
                }
                case Gradient.Sparse sparse when settings.sparseAsDense() -> {
                    dense.add(parameter);
                    tensors.add(toDense(sparse));
                }
                case Gradient.Sparse sparse -> launch(parameter, sparse);
            }
        }
        if (!dense.isEmpty()) {
            List<String> members = dense.stream().map(this::name).toList();
            launches.add(
                    new Launch(dense, gradientReduction.reduce(group.name(), members, tensors)));
        }
    }

    private void launch(int parameter, Gradient.Sparse sparse) {
        Handle<Gradient> handle = gradientReduction.reduce(name(parameter), sparse.rows());
        launches.add(new Launch(List.of(parameter), handle.thenApply(List::of)));
    }

    /// A single rank keeps it in main memory, and only scales it.
    private Tensor toDense(Gradient.Sparse sparse) {
        Tensor whole = gradientArithmetic.toDense(sparse.rows());
        return isSingleRank()
                ? whole
                : new GradientTransfer(gradients, processSet.communicator()).toDevice(whole);
    }

    /// The name of a collective for one gradient.
    private String name(int parameter) {
        return settings.prefix() + "." + names.get(parameter);
    }

    private void scaleLocalGradient(int parameter) {
        double mean = settings.averageAccumulated() ? 1.0 / settings.backwardPassesPerStep() : 1.0;
        double factor = settings.scaleLocalGradients() ? mean / gradientReduction.size() : mean;
        gradients.setReduced(
                parameter, gradientArithmetic.scaledDense(gradients.acquire(parameter), factor));
    }

    /// Waits even after a failure, because tensors are in use until their reduction is done. On a
    /// device the stream waits that uses them next.
    private void finish(Launch launch, Optional<DeviceStream> stream) {
        try {
            List<Gradient> reduced =
                    stream.isPresent() ? launch.handle.awaitOn(stream.get()) : launch.handle.join();
            for (int i = 0; i < reduced.size(); i++) {
                gradients.setReduced(launch.parameters.get(i), reduced.get(i));
            }
        } catch (RuntimeException | Error e) {
            recordFailure(e);
        }
    }

    /// Keeps the first failure: later ones are its consequences.
    private void recordFailure(Throwable thrown) {
        if (failure == null) {
            failure = thrown;
        }
    }
}

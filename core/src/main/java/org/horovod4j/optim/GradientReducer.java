package org.horovod4j.optim;

import org.horovod4j.Handle;
import org.horovod4j.ProcessSet;
import org.horovod4j.Scale;
import org.horovod4j.Sequel;
import org.horovod4j.Tensor;
import org.horovod4j.optim.LaunchGroups.Group;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/// Reduces the gradients of one training step after another.
///
/// A step is a window of [GradientSettings#backwardPassesPerStep] backward passes. The adapter calls
/// [#ready] whenever one has added to a gradient; after the last of the window the gradient is launched, in
/// the order in which gradients become ready, so that communication goes on while earlier layers
/// are still being computed. [#synchronize] launches what has not come, with zeros or without rows where
/// a rank never used a parameter, so that ranks may take different branches; waits for all; and begins
/// the next window.
///
/// An adapter that cannot tell when gradients become ready calls [#backwardPassCompleted] after each backward
/// pass.
///
/// Threads of a framework may call [#ready] while another synchronizes. Costs one lock and, for a
/// launch, one submission.
public final class GradientReducer {
    private final ProcessSet processSet;
    private final Gradients gradients;
    private final List<String> names;
    private final LaunchGroups groups;
    private final GradientLayouts layouts;
    private final GradientArithmetic gradientArithmetic = new GradientArithmetic();
    private final OverlapTimer overlapTimer = new OverlapTimer();

    private GradientSettings settings;
    private GradientReduction gradientReduction;

    /// How often each gradient was added to in this window.
    private final int[] passes;

    /// How often the program has asked for a step in this window.
    private int steps;

    private final boolean[] launched;
    private final List<Launch> launches = new ArrayList<>();
    private @Nullable Throwable failure;

    /// A reduction under way.
    ///
    /// @param parameters whose gradients it returns, in this order
    private record Launch(List<Integer> parameters, Handle<List<Gradient>> handle) {}

    /// @throws IllegalArgumentException when names are missing or come twice, or groups do not fit
    ///     them
    public GradientReducer(ProcessSet processSet, Gradients gradients, GradientSettings settings) {
        this.processSet = processSet;
        this.gradients = gradients;
        this.names = List.copyOf(gradients.names());
        this.groups = LaunchGroups.of(names, settings);
        this.settings = settings;
        this.gradientReduction = reductionOf(settings);
        this.layouts = newLayouts();
        this.passes = new int[names.size()];
        this.launched = new boolean[names.size()];
    }

    /// Where there is nobody else, nothing is sent; a rank outside the process set is by itself
    /// too.
    private GradientReduction reductionOf(GradientSettings wanted) {
        double mean = wanted.averageAccumulated() ? 1.0 / wanted.backwardPassesPerStep() : 1.0;
        if (!processSet.isIncluded() || processSet.size() == 1) {
            return new LocalReduction(gradientArithmetic, mean);
        }
        double factor = wanted.predivideFactor();
        return new DistributedReduction(
                processSet.communicator(),
                wanted.op(),
                wanted.compressor(),
                new Scale(mean / factor, factor),
                gradientArithmetic);
    }

    private GradientLayouts newLayouts() {
        return gradients instanceof SparseGradients sparse
                        && !isSingleRank()
                        && !settings.sparseAsDense()
                ? new NegotiatedLayouts(
                        sparse,
                        processSet.communicator(),
                        settings.prefix() + " kinds",
                        gradientArithmetic)
                : new GradientLayouts.Fixed(gradients);
    }

    /// Whether nobody else takes part, so that gradients stay on this rank.
    public synchronized boolean isSingleRank() {
        return gradientReduction.size() == 1;
    }

    /// Whether the parameter is left out of the reduction.
    public boolean isLocal(int parameter) {
        return groups.isLocal(parameter);
    }

    /// Changes the length of windows, from the next one on.
    ///
    /// @throws IllegalStateException in the middle of a window
    public synchronized void backwardPassesPerStep(int count) {
        int done = Math.max(passes(), steps);
        if (done > 0) {
            throw new IllegalStateException(
                    """
                    backwardPassesPerStep was to become %d, but %d of %d backward passes are done already
                    Change it between a step and the next backward pass."""
                            .formatted(count, done, settings.backwardPassesPerStep()));
        }
        settings = settings.withBackwardPassesPerStep(count);
        gradientReduction = reductionOf(settings);
    }

    /// Says that a backward pass has added to the gradient, and launches it after the last pass of
    /// the window.
    ///
    /// Never throws, as frameworks call it from native code, where nobody could catch: what goes
    /// wrong is thrown by [#synchronize].
    public synchronized void ready(int parameter) {
        ready(parameter, false);
    }

    /// Says that a backward pass has added to all gradients that take part, the last ones first.
    public synchronized void backwardPassCompleted() {
        for (int parameter = names.size() - 1; parameter >= 0; parameter--) {
            if (gradients.isTrainable(parameter)) {
                ready(parameter, true);
            }
        }
    }

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

    /// A frozen parameter keeps nobody waiting.
    private boolean isReady(int parameter) {
        return passes[parameter] >= settings.backwardPassesPerStep()
                || !gradients.isTrainable(parameter);
    }

    /// How many backward passes this window has seen: those of the gradient that was added to most
    /// often, as a pass need not come to all of them.
    public synchronized int passes() {
        return Arrays.stream(passes).max().orElse(0);
    }

    /// Says that the program asks for a step, as it may after each backward pass or after the last
    /// of the window alone. Both passes and steps are counted, because neither will do: a gradient
    /// that is in some passes only shows too few of them, and by how much differs between ranks
    /// that take different branches.
    public synchronized void stepRequested() {
        steps++;
    }

    /// Whether the window is complete, by its passes or by its steps.
    public synchronized boolean isComplete() {
        return Math.max(passes(), steps) >= settings.backwardPassesPerStep();
    }

    /// Reduces what is not reduced yet, whether or not the window is complete, waits for all, gives
    /// the gradients back and begins a new window.
    ///
    /// @throws IllegalStateException when there were more backward passes than a window has
    /// @throws org.horovod4j.HorovodException when a reduction failed
    public synchronized void synchronize() {
        Throwable first = finishWindow();
        overlapTimer.stepCompleted();
        switch (first) {
            case null -> {}
            case Error error -> throw error;
            case RuntimeException exception -> throw exception;
            default -> throw new IllegalStateException(first);
        }
    }

    /// Ends a window that no step will follow, with gradients of no use: nothing is lent
    /// afterwards. In a world that goes on, all ranks call this after the same backward pass; in
    /// one that has ended, reductions fail, which is of no interest any more.
    ///
    /// @return what failed
    public synchronized Optional<Throwable> abandon() {
        // A rank that has launched nothing yet must join in what others have launched; but where
        // passes
        // launch nothing, nobody has.
        boolean isOpen = passes() > 0 && gradients.canAcquireDuringBackward();
        Throwable failed = isOpen ? finishWindow() : null;
        overlapTimer.windowAbandoned();
        beginWindow();
        return Optional.ofNullable(failed);
    }

    /// Launches what is missing, waits for all, and begins a new window.
    private @Nullable Throwable finishWindow() {
        try {
            if (failure == null) {
                launchMissing();
            }
        } catch (RuntimeException | Error e) {
            recordFailure(e);
        }
        overlapTimer.waitStarted();
        for (Launch launch : launches) {
            finish(launch);
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

    /// Where passes launch nothing, all are launched here: the last ones first, as passes would, and as
    /// they lie in memory that was laid out for passes.
    private List<Group> inLaunchOrder() {
        return gradients.canAcquireDuringBackward() ? groups.all() : groups.all().reversed();
    }

    /// Launches the members of a group that take part in this step and have not been launched. Those that
    /// no rank has a gradient for are left as they are: the sum of nothing is nothing.
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
                    tensors.add(gradientArithmetic.toDense(sparse.rows()));
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
        launches.add(new Launch(List.of(parameter), Sequel.of(handle, List::of)));
    }

    /// Under which the ranks find a gradient that travels by itself.
    private String name(int parameter) {
        return settings.prefix() + "." + names.get(parameter);
    }

    private void scaleLocalGradient(int parameter) {
        double mean = settings.averageAccumulated() ? 1.0 / settings.backwardPassesPerStep() : 1.0;
        double factor = settings.scaleLocalGradients() ? mean / gradientReduction.size() : mean;
        gradients.setReduced(
                parameter, gradientArithmetic.scaledDense(gradients.acquire(parameter), factor));
    }

    /// Waits even after a failure, because tensors are in use until their reduction has ended.
    private void finish(Launch launch) {
        try {
            List<Gradient> reduced = launch.handle.join();
            for (int i = 0; i < reduced.size(); i++) {
                gradients.setReduced(launch.parameters.get(i), reduced.get(i));
            }
        } catch (RuntimeException | Error e) {
            recordFailure(e);
        }
    }

    /// The first failure is the cause; what fails after it fails because of it.
    private void recordFailure(Throwable thrown) {
        if (failure == null) {
            failure = thrown;
        }
    }
}

package org.horovod4j.tensorflow.training;

import org.horovod4j.Communicator;
import org.horovod4j.checkpoint.CheckpointException;
import org.horovod4j.log.Log;
import org.horovod4j.tensorflow.FailedRun;
import org.horovod4j.tensorflow.HvdOps;
import org.horovod4j.tensorflow.HvdTensorFlow;
import org.horovod4j.tensorflow.PreparedRun;
import org.horovod4j.tensorflow.Variables;
import org.horovod4j.training.CommunicatorProvider;
import org.horovod4j.training.LearningRate;
import org.tensorflow.Graph;
import org.tensorflow.Output;
import org.tensorflow.Session;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.proto.ConfigProto;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.function.Consumer;
import java.util.function.Predicate;

/// A session that trains: what `MonitoredTrainingSession` is in Python.
///
/// ```java
/// Op step = HvdTensorFlow.distributed(new Adam(graph, 0.001f * Hvd.size())).minimize(loss);
/// try (TrainingSession training =
///         TrainingSession.of(graph, step)
///                 .checkpoints(Path.of("checkpoints"))
///                 .stopAtStep(20_000 / Hvd.size())
///                 .hook(MetricLog.every(100).metric("loss", loss))
///                 .start()) {
///     while (!training.shouldStop()) {
///         try (TFloat32 images = nextImages(); TInt64 labels = nextLabels()) {
///             training.run(feeds -> feeds.feed(image, images).feed(label, labels));
///         }
///     }
/// }
/// ```
///
/// It initialises variables, restores the newest checkpoint, and overwrites the variables of all
/// ranks with those of rank 0, those of optimizers included. Checkpoints are written and read on
/// rank 0 only, so the folder need not be shared. If rank 0 fails to write one, all ranks throw.
///
/// All ranks make the same number of steps. When a step throws on a rank, it also throws on the
/// others, in most cases with the same message. The program may end: [#close] then saves nothing and waits for no
/// other rank. Or all ranks continue with the next batch: [#run] then starts from the variables and
/// the step of rank 0. If the loop ends before [#shouldStop] is true, [#close] saves nothing either.
public final class TrainingSession implements AutoCloseable {
    private static final Logger LOG = Log.of(TrainingSession.class);
    static final int SAVE_EVERY = 1000;
    static final int KEPT = 5;

    private final CommunicatorProvider communicators;
    private final Optional<SessionCheckpoints> checkpoints;
    private final OptionalInt lastStep;
    private final Optional<LearningRate> learningRate;
    private final Optional<LearningRateInputs> learningRateInputs;
    private final List<TrainingHook> hooks;
    private final Session session;
    private final PreparedRun broadcast;
    private final PreparedRun trainingRun;

    /// What the hooks fetch, and its position in the result.
    private final Map<Output<?>, Integer> positions = new LinkedHashMap<>();

    private int step;
    private boolean isStopRequested;
    private Optional<FailedRun> failedRun = Optional.empty();
    private boolean isClosed;

    private TrainingSession(Builder builder) {
        Communicator communicator = builder.communicators.current();
        Graph graph = builder.graph;
        this.communicators = builder.communicators;
        VariableValues variables = new VariableValues(graph);
        this.checkpoints =
                builder.folder.map(
                        path ->
                                new SessionCheckpoints(
                                        path, builder.kept, builder.saveEvery, variables));
        this.lastStep = builder.lastStep;
        this.learningRate = builder.learningRate;
        this.learningRateInputs = learningRate.map(_ -> LearningRateInputs.of(graph));
        this.hooks = List.copyOf(builder.hooks);
        Op broadcastOp = broadcast(graph, communicator, builder.local);
        for (TrainingHook hook : hooks) {
            hook.fetches()
                    .forEach(fetch -> positions.putIfAbsent(fetch.asOutput(), positions.size()));
        }
        this.session =
                new Session(
                        graph, builder.config.orElseGet(() -> HvdTensorFlow.config(communicator)));
        boolean isPrepared = false;
        try {
            this.broadcast = PreparedRun.of(session, broadcastOp);
            this.trainingRun =
                    PreparedRun.of(session, positions.keySet(), List.of(builder.trainOp));
            isPrepared = true;
        } finally {
            if (!isPrepared) {
                session.close();
            }
        }
    }

    private static Op broadcast(Graph graph, Communicator communicator, Predicate<String> local) {
        List<Output<?>> shared =
                Variables.of(graph).stream()
                        .filter(variable -> !local.test(variable.op().name()))
                        .toList();
        return HvdOps.create(Ops.create(graph), communicator).broadcastVariables(shared, 0);
    }

    /// A session for a graph that is complete: later variables would not be saved.
    ///
    /// @param trainOp what an optimizer's `minimize` returns; each step runs it
    public static Builder of(Graph graph, Op trainOp) {
        return new Builder(graph, trainOp);
    }

    private void start() {
        session.initialize();
        step =
                checkpoints
                        .map(each -> each.restoreNewest(communicators.current(), session))
                        .orElse(0);
        broadcast.run();
        hooks.forEach(hook -> hook.atStart(this));
    }

    /// The number of complete steps, those before a checkpoint included.
    public int step() {
        return step;
    }

    /// Whether training ends: the last step is done, or a stop was requested. Not after a failed step:
    /// all ranks first agree on the step with which they continue.
    public boolean shouldStop() {
        return failedRun.isEmpty() && isAtEnd();
    }

    private boolean isAtEnd() {
        return isStopRequested || (lastStep.isPresent() && step >= lastStep.getAsInt());
    }

    /// Ends training after this step. All ranks call this in the same step.
    public void requestStop() {
        isStopRequested = true;
    }

    /// The session, for runs that are not steps, such as a validation.
    public Session session() {
        return session;
    }

    /// The learning rate of the last step, if there is a schedule.
    public OptionalDouble learningRate() {
        return learningRate.isPresent() && step > 0
                ? OptionalDouble.of(learningRate.get().at(step))
                : OptionalDouble.empty();
    }

    Communicator communicator() {
        return communicators.current();
    }

    /// Makes a step. All ranks call this.
    ///
    /// @param feeds feeds the batch; called once
    /// @throws RuntimeException when the step fails on this rank or on another
    public void run(Consumer<PreparedRun.Feeds> feeds) {
        failedRun.ifPresent(this::recover);
        try {
            makeStep(feeds);
        } catch (RuntimeException | Error e) {
            reportFailure(e);
            throw e;
        }
    }

    private void reportFailure(Throwable failure) {
        try {
            failedRun = Optional.of(FailedRun.report(session, failure));
        } catch (RuntimeException e) {
            failure.addSuppressed(e);
        }
    }

    /// Some ranks may have made the failed step and others not, so all continue from rank 0.
    private void recover(FailedRun failed) {
        failed.await();
        failedRun = Optional.empty();
        broadcast.run();
        step = communicators.current().broadcastObject("step after a failure", step, 0);
    }

    private void makeStep(Consumer<PreparedRun.Feeds> feeds) {
        List<org.tensorflow.Tensor> rates = new ArrayList<>();
        try (PreparedRun.Values result =
                trainingRun.run(
                        all -> {
                            feeds.accept(all);
                            learningRateInputs.ifPresent(
                                    inputs ->
                                            rates.addAll(
                                                    inputs.feed(
                                                            all,
                                                            learningRate
                                                                    .orElseThrow()
                                                                    .at(step + 1))));
                        })) {
            step++;
            TrainingStep done = new TrainingStep(this, positions, result);
            hooks.forEach(hook -> hook.afterStep(done));
        } finally {
            rates.forEach(org.tensorflow.Tensor::close);
        }
        if (checkpoints.isPresent() && checkpoints.get().isDue(step)) {
            save();
        }
    }

    /// Writes a checkpoint now. All ranks call this.
    ///
    /// @throws CheckpointException on all ranks, when rank 0 cannot write it
    /// @throws IllegalStateException when there is no folder for checkpoints
    public void save() {
        checkpoints
                .orElseThrow(
                        () ->
                                new IllegalStateException(
                                        "there is no folder for checkpoints: call checkpoints(…) before start()"))
                .save(communicators.current(), session, step);
    }

    /// Ends the training. After the last step it calls the hooks and saves a checkpoint. Otherwise it
    /// logs a warning and only frees the session: other ranks may have failed.
    @Override
    public void close() {
        if (isClosed) {
            return;
        }
        isClosed = true;
        try (session) {
            if (shouldStop()) {
                hooks.forEach(hook -> hook.atEnd(this));
                if (checkpoints.isPresent() && !checkpoints.get().isSaved(step)) {
                    save();
                }
            } else {
                reportEarlyEnd();
            }
        }
    }

    private void reportEarlyEnd() {
        String note = checkpoints.map(SessionCheckpoints::note).orElse("");
        if (failedRun.isPresent()) {
            LOG.log(Level.WARNING, "training failed after step {0}{1}", String.valueOf(step), note);
        } else {
            LOG.log(
                    Level.WARNING,
                    "training ended after step {0}, before its last step{1}. Call requestStop() to end it early.",
                    String.valueOf(step),
                    note);
        }
    }

    /// Options of a training session.
    public static final class Builder {
        private final Graph graph;
        private final Op trainOp;
        private final List<TrainingHook> hooks = new ArrayList<>();
        private CommunicatorProvider communicators = CommunicatorProvider.FROM_HVD;
        private Optional<Path> folder = Optional.empty();
        private Optional<ConfigProto> config = Optional.empty();
        private Optional<LearningRate> learningRate = Optional.empty();
        private OptionalInt lastStep = OptionalInt.empty();
        private Predicate<String> local = _ -> false;
        private int saveEvery = SAVE_EVERY;
        private int kept = KEPT;

        private Builder(Graph graph, Op trainOp) {
            this.graph = graph;
            this.trainOp = trainOp;
        }

        /// The folder of checkpoints on rank 0, which is created when it is missing. Without it
        /// nothing is saved.
        public Builder checkpoints(Path path) {
            folder = Optional.of(path);
            return this;
        }

        /// The number of steps between checkpoints; 1000 by default. The last step is saved too.
        public Builder saveEvery(int steps) {
            saveEvery = atLeastOne("steps between checkpoints", steps);
            return this;
        }

        /// How many of the newest checkpoints are kept; 5 by default.
        public Builder keep(int newest) {
            kept = atLeastOne("checkpoints to keep", newest);
            return this;
        }

        /// The last step, those before a checkpoint included. Without it, training ends by
        /// [TrainingSession#requestStop].
        public Builder stopAtStep(int step) {
            lastStep = OptionalInt.of(step);
            return this;
        }

        /// The learning rate of each step, in place of the constant of the optimizer: a warm-up or a
        /// schedule. It changes all optimizers in the graph. Those of TensorFlow Java are supported,
        /// except `Nadam`.
        public Builder learningRate(LearningRate rate) {
            learningRate = Optional.of(rate);
            return this;
        }

        /// Adds a hook. Hooks are called in this order.
        public Builder hook(TrainingHook hook) {
            hooks.add(hook);
            return this;
        }

        /// Variables that each rank keeps for itself, as in `DistributedOptimizer`'s `local`. A
        /// checkpoint has those of rank 0, and only rank 0 restores them.
        public Builder local(Predicate<String> variableName) {
            local = variableName;
            return this;
        }

        /// The configuration of the session; [HvdTensorFlow#config(Communicator)] by default.
        public Builder config(ConfigProto value) {
            config = Optional.of(value);
            return this;
        }

        /// The ranks that train together; all ranks of `Hvd` by default.
        public Builder communicator(Communicator value) {
            return communicators(new CommunicatorProvider(value));
        }

        Builder communicators(CommunicatorProvider value) {
            communicators = value;
            return this;
        }

        /// Restores the newest checkpoint and makes the variables of all ranks equal. All ranks call
        /// this.
        ///
        /// @throws CheckpointException on all ranks, when rank 0 cannot use the folder, or the newest
        ///     checkpoint is of another network or optimizer
        public TrainingSession start() {
            TrainingSession training = new TrainingSession(this);
            boolean isStarted = false;
            try {
                training.start();
                isStarted = true;
            } finally {
                if (!isStarted) {
                    training.session.close();
                }
            }
            return training;
        }

        private static int atLeastOne(String what, int value) {
            if (value < 1) {
                throw new IllegalArgumentException("%s: at least 1, not %d".formatted(what, value));
            }
            return value;
        }
    }
}

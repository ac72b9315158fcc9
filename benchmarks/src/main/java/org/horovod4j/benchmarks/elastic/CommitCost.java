package org.horovod4j.benchmarks.elastic;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.basicmodelzoo.cv.classification.ResNetV1;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.benchmarks.report.Percentiles;
import org.horovod4j.djl.HvdDjl;
import org.horovod4j.djl.OptimizerState;
import org.horovod4j.djl.Parameters;
import org.horovod4j.djl.elastic.DjlState;
import org.horovod4j.elastic.Elastic;
import org.horovod4j.elastic.ObjectState;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/// Measures the cost of a commit in every step, for ResNet-50 with the state of Adam.
///
/// One job alternates between steps without a commit, with a commit, and with a background commit,
/// because the speed of a machine can change by 10% within a minute. A turn is a commit and the
/// following step, so it includes the time that a background commit takes from that step. Step
/// times vary by more than the time of a commit, so the time of the call itself is reported too.
///
/// Arguments: the image size in pixels, the batch size of a rank, and the number of turns.
public final class CommitCost implements AutoCloseable {
    private static final int CLASSES = 1000;
    private static final int WARM_UP = 2;

    private final Model model;
    private final Trainer trainer;
    private final Optimizer optimizer;
    private final NDArray images;
    private final NDArray labels;
    private final DjlState foreground;
    private final DjlState background;

    /// Whether and how a step is committed.
    private enum CommitMode {
        NEVER,
        FOREGROUND,
        BACKGROUND
    }

    private CommitCost(int side, int batch) {
        model = Model.newInstance("resnet50", Device.cpu(), "PyTorch");
        model.setBlock(
                ResNetV1.builder()
                        .setImageShape(new Shape(3, side, side))
                        .setNumLayers(50)
                        .setOutSize(CLASSES)
                        .build());
        optimizer = HvdDjl.distributed(Optimizer.adam().build(), model);
        trainer =
                model.newTrainer(
                        new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                                .optOptimizer(optimizer)
                                .optDevices(new Device[] {Device.cpu()}));
        Shape input = new Shape(batch, 3, side, side);
        trainer.initialize(input);
        NDManager manager = trainer.getManager();
        images = manager.randomUniform(0, 1, input);
        labels =
                manager.randomInteger(0, CLASSES, new Shape(batch), DataType.INT64)
                        .toType(DataType.FLOAT32, false);
        foreground = new DjlState(model, optimizer);
        background = new DjlState(model, optimizer).inBackground();
    }

    public static void main(String[] arguments) {
        int side = Integer.parseInt(arguments[0]);
        int batch = Integer.parseInt(arguments[1]);
        int turns = Integer.parseInt(arguments[2]);
        Engine.getEngine("PyTorch").setRandomSeed(1);
        try (CommitCost cost = new CommitCost(side, batch)) {
            ObjectState state = new ObjectState().with("model", cost.foreground);
            Elastic.run(state, s -> cost.measure(s, turns));
        }
        Hvd.shutdown();
    }

    private void measure(ObjectState state, int turns) {
        for (int step = 0; step < WARM_UP; step++) { // allocates the memory of both states
            for (CommitMode commitMode : CommitMode.values()) {
                measureOnce(state, commitMode);
            }
        }
        Map<CommitMode, List<Sample>> times = new EnumMap<>(CommitMode.class);
        for (int turn = 0; turn < turns; turn++) {
            for (CommitMode commitMode : CommitMode.values()) {
                times.computeIfAbsent(commitMode, _ -> new ArrayList<>())
                        .add(measureOnce(state, commitMode));
            }
        }
        if (Hvd.rank() == 0) {
            report(times);
        }
    }

    /// A commit and the following step, in milliseconds on the slowest rank.
    ///
    /// @param commitMillis until the commit call returns
    /// @param totalMillis commit and step
    private record Sample(double commitMillis, double totalMillis) {}

    private Sample measureOnce(ObjectState state, CommitMode commitMode) {
        Hvd.communicator().barrier();
        long start = System.nanoTime();
        switch (commitMode) {
            case NEVER -> {}
            case FOREGROUND -> {
                foreground.commit();
                state.checkHostUpdates(); // as a commit of the whole state does
            }
            case BACKGROUND -> {
                background.commit();
                state.checkHostUpdates();
            }
        }
        double commit = (System.nanoTime() - start) / 1e6;
        step();
        double[] slowest = {commit, (System.nanoTime() - start) / 1e6};
        Hvd.allreduce("slowest", slowest, ReduceOp.MAX);
        return new Sample(slowest[0], slowest[1]);
    }

    private void step() {
        try (NDManager pass = trainer.getManager().newSubManager();
                GradientCollector collector = trainer.newGradientCollector()) {
            NDArray batch = images.duplicate();
            batch.attach(pass);
            NDList predictions = trainer.forward(new NDList(batch));
            collector.backward(trainer.getLoss().evaluate(new NDList(labels), predictions));
        }
        trainer.step();
    }

    private void report(Map<CommitMode, List<Sample>> times) {
        System.out.printf(
                Locale.ROOT,
                "ResNet-50 with Adam, %.1f million numbers in a commit, %d ranks, %d images each%n",
                valueCount() / 1e6,
                Hvd.size(),
                images.getShape().get(0));
        List<Sample> never = times.getOrDefault(CommitMode.NEVER, List.of());
        times.forEach(
                (commitMode, each) -> {
                    System.out.printf(
                            Locale.ROOT,
                            "commit %-10s step %s ms%s%n",
                            commitMode.name().toLowerCase(Locale.ROOT),
                            formatPercentiles("%.0f", each.stream().map(Sample::totalMillis)),
                            commitMode == CommitMode.NEVER ? "" : describeCost(never, each));
                });
    }

    /// Compares turns that ran next to each other, because the machine had the same speed for both.
    private static String describeCost(List<Sample> never, List<Sample> each) {
        List<Integer> turns = IntStream.range(0, each.size()).boxed().toList();
        return ", longer by %s %% (aim: less than 5); until commit() returned %s ms, %s %% of a step"
                .formatted(
                        formatPercentiles(
                                "%+.1f",
                                turns.stream()
                                        .map(
                                                i ->
                                                        each.get(i).totalMillis()
                                                                        / never.get(i).totalMillis()
                                                                - 1)
                                        .map(share -> 100 * share)),
                        formatPercentiles("%.1f", each.stream().map(Sample::commitMillis)),
                        formatPercentiles(
                                "%.1f",
                                turns.stream()
                                        .map(
                                                i ->
                                                        each.get(i).commitMillis()
                                                                / never.get(i).totalMillis())
                                        .map(share -> 100 * share)));
    }

    /// The median, with the 10th and 90th percentiles in brackets.
    private static String formatPercentiles(String format, Stream<Double> samples) {
        Percentiles percentiles =
                Percentiles.of(samples.mapToDouble(Double::doubleValue).toArray());
        return String.format(
                Locale.ROOT,
                format + " [" + format + ".." + format + "]",
                percentiles.median(),
                percentiles.p10(),
                percentiles.p90());
    }

    private long valueCount() {
        return Stream.of(
                        Parameters.arrays(model.getBlock()),
                        OptimizerState.of(optimizer, model.getBlock()).arrays())
                .flatMap(arrays -> arrays.values().stream())
                .mapToLong(NDArray::size)
                .sum();
    }

    @Override
    public void close() {
        trainer.close();
        model.close();
    }
}

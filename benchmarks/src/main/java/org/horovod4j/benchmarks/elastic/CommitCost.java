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
import org.horovod4j.benchmarks.report.Spread;
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

/// What it costs to commit in every step: ResNet-50 and all that Adam keeps of it.
///
/// Steps without a commit, with one, and with one in the background take turns in one job, because a machine
/// may be a tenth faster or slower a minute later. A turn is a commit and the step after it, so that what a
/// commit in the background takes from that step counts. Steps vary by more than a commit takes, so the
/// time of the call itself is told as well.
///
/// Arguments: the side of the images in pixels, the images of a rank in a step, and the number of turns.
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

    /// When a step is committed.
    private enum Way {
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
        for (int step = 0; step < WARM_UP; step++) { // after which both states have their memory
            for (Way way : Way.values()) {
                turn(state, way);
            }
        }
        Map<Way, List<Turn>> times = new EnumMap<>(Way.class);
        for (int turn = 0; turn < turns; turn++) {
            for (Way way : Way.values()) {
                times.computeIfAbsent(way, _ -> new ArrayList<>()).add(turn(state, way));
            }
        }
        if (Hvd.rank() == 0) {
            report(times);
        }
    }

    /// A commit and the step after it, in milliseconds of the slowest rank.
    ///
    /// @param commit until the program goes on
    /// @param whole commit and step
    private record Turn(double commit, double whole) {}

    private Turn turn(ObjectState state, Way way) {
        Hvd.communicator().barrier();
        long start = System.nanoTime();
        switch (way) {
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
        return new Turn(slowest[0], slowest[1]);
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

    private void report(Map<Way, List<Turn>> times) {
        System.out.printf(
                Locale.ROOT,
                "ResNet-50 with Adam, %.1f million numbers in a commit, %d ranks, %d images each%n",
                numbers() / 1e6,
                Hvd.size(),
                images.getShape().get(0));
        List<Turn> never = times.getOrDefault(Way.NEVER, List.of());
        times.forEach(
                (way, each) -> {
                    System.out.printf(
                            Locale.ROOT,
                            "commit %-10s step %s ms%s%n",
                            way.name().toLowerCase(Locale.ROOT),
                            text("%.0f", each.stream().map(Turn::whole)),
                            way == Way.NEVER ? "" : cost(never, each));
                });
    }

    /// Of each turn beside its neighbour, since only these had the same machine.
    private static String cost(List<Turn> never, List<Turn> each) {
        List<Integer> turns = IntStream.range(0, each.size()).boxed().toList();
        return ", longer by %s %% (aim: less than 5); until commit() returned %s ms, %s %% of a step"
                .formatted(
                        text(
                                "%+.1f",
                                turns.stream()
                                        .map(i -> each.get(i).whole() / never.get(i).whole() - 1)
                                        .map(share -> 100 * share)),
                        text("%.1f", each.stream().map(Turn::commit)),
                        text(
                                "%.1f",
                                turns.stream()
                                        .map(i -> each.get(i).commit() / never.get(i).whole())
                                        .map(share -> 100 * share)));
    }

    /// The median, and the 10th and 90th percentile in brackets.
    private static String text(String format, Stream<Double> samples) {
        Spread spread = Spread.of(samples.mapToDouble(Double::doubleValue).toArray());
        return String.format(
                Locale.ROOT,
                format + " [" + format + ".." + format + "]",
                spread.median(),
                spread.p10(),
                spread.p90());
    }

    private long numbers() {
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

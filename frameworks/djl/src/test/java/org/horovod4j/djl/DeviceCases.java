package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.ndarray.types.SparseFormat;
import ai.djl.training.GradientCollector;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.AlltoallOptions;
import org.horovod4j.Communicator;
import org.horovod4j.Handle;
import org.horovod4j.Hvd;
import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Tensor;
import org.horovod4j.compression.Compression;
import org.horovod4j.djl.engine.EngineAccess;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;

/// What two ranks do with arrays on one device. A case that fails does not end the others.
///
/// Rank r has the rows (1, 2), (3, 4) and (5, 6), times r + 1.
final class DeviceCases {
    static final String PASSED = "passed";

    private static final List<DataType> TYPES =
            List.of(
                    DataType.FLOAT32,
                    DataType.FLOAT64,
                    DataType.FLOAT16,
                    DataType.INT32,
                    DataType.INT64,
                    DataType.INT8,
                    DataType.UINT8);

    private static final int STEPS = 3;
    private static final int SAMPLES = 8;

    private final Communicator comm;
    private final ArrayCollectives collectives;
    private final Device device;
    private final NDManager manager;
    private final int rank;
    private final Map<String, String> outcomes = new LinkedHashMap<>();

    private DeviceCases(Communicator comm, NDManager manager) {
        this.comm = comm;
        this.collectives = new ArrayCollectives(comm);
        this.device = manager.getDevice();
        this.manager = manager;
        this.rank = comm.rank();
    }

    /// The outcome of each case: [#PASSED] or the failure.
    static Map<String, String> run(Communicator comm, Device device) {
        try (NDManager manager = NDManager.newBaseManager(device, "PyTorch")) {
            DeviceCases cases = new DeviceCases(comm, manager);
            TYPES.forEach(cases::collectives);
            cases.otherArrays();
            cases.differentiable();
            cases.training();
            return cases.outcomes;
        }
    }

    /// Runs the cases without JUnit, on a machine that has only a runtime and jars: on the GPU that
    /// `HvdDjl.device` returns, or on the CPU.
    public static void main(String[] arguments) {
        Hvd.init();
        Device device = HvdDjl.device();
        Map<String, String> outcomes = run(Hvd.communicator(), device);
        outcomes.forEach((name, outcome) -> System.out.println(name + ": " + outcome));
        long passed = outcomes.values().stream().filter(PASSED::equals).count();
        System.out.printf("%s: %d of %d cases%n", device, passed, outcomes.size());
        Hvd.shutdown();
        System.exit(passed == outcomes.size() ? 0 : 1);
    }

    private interface Case {
        void run() throws Exception;
    }

    @SuppressWarnings("CatchAndPrintStackTrace") // the outcome has the message only
    private void run(String name, Case action) {
        try {
            action.run();
            outcomes.put(name, PASSED);
        } catch (Exception | AssertionError | LinkageError e) {
            e.printStackTrace();
            outcomes.put(name, e.toString());
        }
    }

    private void collectives(DataType type) {
        String of = " of " + type.name().toLowerCase(java.util.Locale.ROOT);
        NDArray rows = rows(type);
        double[] ownValues = times(rank + 1, 1, 2, 3, 4, 5, 6);

        run(
                "allreduce" + of,
                () -> {
                    NDArray sum = collectives.allreduce("sum" + of, rows, ReduceOp.SUM);
                    check(sum, new Shape(3, 2), times(3, 1, 2, 3, 4, 5, 6));
                    check(
                            collectives.allreduce("maximum" + of, rows, ReduceOp.MAX),
                            new Shape(3, 2),
                            times(2, 1, 2, 3, 4, 5, 6));
                    check(rows, new Shape(3, 2), ownValues);
                });
        run(
                "grouped allreduce" + of,
                () -> {
                    NDList sums =
                            collectives.groupedAllreduce(
                                    "group" + of, new NDList(rows, rows.transpose()), ReduceOp.SUM);
                    check(sums.get(0), new Shape(3, 2), times(3, 1, 2, 3, 4, 5, 6));
                    check(sums.get(1), new Shape(2, 3), times(3, 1, 3, 5, 2, 4, 6));
                });
        run(
                "allgather" + of,
                () -> {
                    NDArray some = rows.get("0:" + (rank + 1));
                    check(
                            collectives.allgather("gathered" + of, some),
                            new Shape(3, 2),
                            1,
                            2,
                            2,
                            4,
                            6,
                            8);
                });
        run(
                "broadcast" + of,
                () ->
                        check(
                                collectives.broadcast("root" + of, rows, 1),
                                new Shape(3, 2),
                                times(2, 1, 2, 3, 4, 5, 6)));
        run(
                "alltoall" + of,
                () -> {
                    AlltoallArray received =
                            collectives.alltoall(
                                    "exchange" + of, rows, AlltoallOptions.splits(1, 2));
                    assertThat(received.receivedSplits()).containsExactly(rank + 1, rank + 1);
                    if (rank == 0) {
                        check(received.array(), new Shape(2, 2), 1, 2, 2, 4);
                    } else {
                        check(received.array(), new Shape(4, 2), 3, 4, 5, 6, 6, 8, 10, 12);
                    }
                });
        run(
                "reducescatter" + of,
                () -> {
                    NDArray part = collectives.reducescatter("part" + of, rows, ReduceOp.SUM);
                    if (rank == 0) {
                        check(part, new Shape(2, 2), 3, 6, 9, 12);
                    } else {
                        check(part, new Shape(1, 2), 15, 18);
                    }
                });
        run("asynchronous collectives" + of, () -> asynchronous(of, rows, ownValues));
    }

    private void asynchronous(String of, NDArray rows, double[] ownValues) {
        Handle<NDArray> sum = collectives.allreduceAsync("async sum" + of, rows, ReduceOp.SUM);
        Handle<NDList> group =
                collectives.groupedAllreduceAsync(
                        "async group" + of, new NDList(rows, rows), ReduceOp.MIN);
        Handle<NDArray> gathered = collectives.allgatherAsync("async gathered" + of, rows);
        Handle<NDArray> root = collectives.broadcastAsync("async root" + of, rows, 0);
        Handle<AlltoallArray> exchanged =
                collectives.alltoallAsync(
                        "async exchange" + of, rows, AlltoallOptions.splits(0, 3));
        Handle<NDArray> part =
                collectives.reducescatterAsync("async part" + of, rows, ReduceOp.SUM);

        if (rank == 0) {
            check(part.join(), new Shape(2, 2), 3, 6, 9, 12);
            check(exchanged.join().array(), new Shape(0, 2));
        } else {
            check(part.join(), new Shape(1, 2), 15, 18);
            check(exchanged.join().array(), new Shape(6, 2), 1, 2, 3, 4, 5, 6, 2, 4, 6, 8, 10, 12);
        }
        check(root.join(), new Shape(3, 2), 1, 2, 3, 4, 5, 6);
        check(gathered.join(), new Shape(6, 2), 1, 2, 3, 4, 5, 6, 2, 4, 6, 8, 10, 12);
        check(group.join().get(1), new Shape(3, 2), 1, 2, 3, 4, 5, 6);
        check(sum.join(), new Shape(3, 2), times(3, 1, 2, 3, 4, 5, 6));
        check(rows, new Shape(3, 2), ownValues);
    }

    private void otherArrays() {
        run(
                "average with scale",
                () ->
                        check(
                                collectives
                                        .allreduceAsync(
                                                "scaled",
                                                rows(DataType.FLOAT32),
                                                AllreduceOptions.of(ReduceOp.AVERAGE)
                                                        .withScale(Scale.after(10)))
                                        .join(),
                                new Shape(3, 2),
                                times(15, 1, 2, 3, 4, 5, 6)));
        run(
                "booleans",
                () -> {
                    NDArray first = manager.create(new boolean[] {rank == 0, rank == 1, false});
                    NDArray any = collectives.allreduce("any", first, ReduceOp.MAX);
                    assertThat(any.getDevice()).isEqualTo(device);
                    assertThat(any.toBooleanArray()).containsExactly(true, true, false);
                });
        run(
                "array that is not contiguous",
                () ->
                        check(
                                collectives.allreduce(
                                        "transposed",
                                        rows(DataType.FLOAT32).transpose(),
                                        ReduceOp.SUM),
                                new Shape(2, 3),
                                times(3, 1, 3, 5, 2, 4, 6)));
        run(
                "scalar and empty array",
                () -> {
                    NDArray number = manager.create(2f);
                    check(collectives.allreduce("scalar", number, ReduceOp.SUM), new Shape(), 4);
                    NDArray nothing = manager.zeros(new Shape(0, 2));
                    check(collectives.allreduce("empty", nothing, ReduceOp.SUM), new Shape(0, 2));
                });
        run("a million elements", this::large);
        run("array of a manager of the CPU", this::otherManager);
        run("no array stays open", this::closesArrays);
    }

    private void large() {
        int length = 1_000_003;
        NDArray ramp = manager.arange((float) length).mul(rank + 1);
        try (NDArray sum = collectives.allreduce("large", ramp, ReduceOp.SUM)) {
            float[] values = sum.toFloatArray();
            for (int i = 0; i < length; i++) {
                if (values[i] != 3f * i) {
                    throw new AssertionError("element %d is %s".formatted(i, values[i]));
                }
            }
        }
    }

    private void otherManager() {
        try (NDManager host = NDManager.newBaseManager(Device.cpu(), "PyTorch")) {
            NDArray there = host.create(new float[] {rank, 1}).toDevice(device, true);
            NDArray sum = collectives.allreduce("other manager", there, ReduceOp.SUM);
            check(sum, new Shape(2), 1, 2);
            assertThat(sum.getManager()).isSameAs(there.getManager());
        }
    }

    private void closesArrays() {
        try (NDManager own = manager.newSubManager()) {
            NDArray array = own.create(new float[] {1, 2, 3});
            for (int i = 0; i < STEPS; i++) {
                collectives.allreduce("closed", array, ReduceOp.SUM).close();
                collectives.allgather("closed", array).close();
                collectives.broadcast("closed", array, 0).close();
                collectives.reducescatter("closed", array, ReduceOp.SUM).close();
                collectives.alltoall("closed", array, AlltoallOptions.splits(1, 2)).array().close();
                collectives.groupedAllreduce("closed", new NDList(array), ReduceOp.SUM).close();
            }
            assertThat(own.getManagedArrays()).containsExactly(array);
        }
    }

    /// The loss of rank r is r + 1 times the sum of its result.
    private void differentiable() {
        for (DataType type : List.of(DataType.FLOAT32, DataType.FLOAT64)) {
            String of = " of " + type.name().toLowerCase(java.util.Locale.ROOT);
            differentiable(
                    "differentiable allreduce" + of,
                    type,
                    x -> DifferentiableCollectives.allreduce(comm, "d sum" + of, x, ReduceOp.SUM),
                    times(3, 1, 2, 3, 4, 5, 6),
                    times(3, 1, 1, 1, 1, 1, 1));
            differentiable(
                    "differentiable average of a computed array" + of,
                    type,
                    x ->
                            DifferentiableCollectives.allreduce(
                                    comm, "d mean" + of, x.add(x), ReduceOp.AVERAGE),
                    times(3, 1, 2, 3, 4, 5, 6),
                    times(3, 1, 1, 1, 1, 1, 1));
            differentiable(
                    "differentiable allreduce of a transposed array" + of,
                    type,
                    x ->
                            DifferentiableCollectives.allreduce(
                                    comm, "d transposed" + of, x.transpose(), ReduceOp.SUM),
                    times(3, 1, 3, 5, 2, 4, 6),
                    times(3, 1, 1, 1, 1, 1, 1));
            differentiable(
                    "differentiable allgather" + of,
                    type,
                    x -> DifferentiableCollectives.allgather(comm, "d gathered" + of, x),
                    new double[] {1, 2, 3, 4, 5, 6, 2, 4, 6, 8, 10, 12},
                    times(3, 1, 1, 1, 1, 1, 1));
            differentiable(
                    "differentiable broadcast" + of,
                    type,
                    x -> DifferentiableCollectives.broadcast(comm, "d root" + of, x, 1),
                    times(2, 1, 2, 3, 4, 5, 6),
                    times(rank == 1 ? 3 : 0, 1, 1, 1, 1, 1, 1));
            differentiable(
                    "differentiable alltoall" + of,
                    type,
                    x ->
                            DifferentiableCollectives.alltoall(
                                            comm,
                                            "d exchange" + of,
                                            x,
                                            AlltoallOptions.splits(1, 2))
                                    .array(),
                    rank == 0 ? new double[] {1, 2, 2, 4} : new double[] {3, 4, 5, 6, 6, 8, 10, 12},
                    1,
                    1,
                    2,
                    2,
                    2,
                    2);
            differentiable(
                    "differentiable reducescatter" + of,
                    type,
                    x ->
                            DifferentiableCollectives.reducescatter(
                                    comm, "d part" + of, x, ReduceOp.SUM),
                    rank == 0 ? new double[] {3, 6, 9, 12} : new double[] {15, 18},
                    2,
                    2,
                    2,
                    2,
                    4,
                    4);
        }
    }

    private void differentiable(
            String name,
            DataType type,
            Function<NDArray, NDArray> collective,
            double[] expected,
            double... gradient) {
        run(
                name,
                () -> {
                    NDArray x = rows(type);
                    x.setRequiresGradient(true);
                    try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
                        NDArray result = collective.apply(x);
                        check(result, result.getShape(), expected);
                        NDArray factors =
                                manager.full(result.getShape(), rank + 1).toType(type, false);
                        collector.backward(result.mul(factors).sum());
                    }
                    check(x.getGradient(), new Shape(3, 2), gradient);
                });
    }

    private void training() {
        run(
                "parameters are broadcast",
                () -> {
                    try (TestTraining own = trained(device, TestTraining.sgd())) {
                        own.parameter("01Linear_bias").getArray().addi(rank);
                        Parameters.broadcast(comm, own.model.getBlock(), 1);
                        assertThat(own.weight("01Linear_bias")[0])
                                .isCloseTo(biasOfRoot(), within(1e-6f));
                    }
                });
        run("training equals that of one process on the CPU", this::train);
        features().forEach(this::trainsAsOnCpu);
        run("sparse gradients", () -> sparse(builder -> builder));
        run("sparse gradients as dense ones", () -> sparse(builder -> builder.sparseAsDense(true)));
        run(
                "a rank without rows",
                () -> SparseGradientIT.rankMayNotUseEmbedding(comm, device, false, true));
        run(
                "a rank without rows, dense",
                () -> SparseGradientIT.rankMayNotUseEmbedding(comm, device, true, true));
        run("gradients stay on the device", this::gradientsStayOnDevice);
    }

    private void sparse(UnaryOperator<DistributedOptimizer.Builder> settings) {
        SparseGradientIT.rowsAddUp(comm, device, SparseFormat.COO, settings);
    }

    /// Settings of the optimizer.
    ///
    /// @param passes backward passes in a step
    /// @param clips whether the program changes reduced gradients
    private record Feature(
            int passes, boolean clips, UnaryOperator<DistributedOptimizer.Builder> settings) {
        Feature(UnaryOperator<DistributedOptimizer.Builder> settings) {
            this(1, false, settings);
        }
    }

    private Map<String, Feature> features() {
        Map<String, Feature> features = new LinkedHashMap<>();
        features.put(
                "accumulation",
                new Feature(
                        2,
                        false,
                        builder -> builder.backwardPassesPerStep(2).averageAccumulated(true)));
        features.put("groups", new Feature(builder -> builder.groups(2)));
        features.put("no overlap", new Feature(builder -> builder.overlap(false)));
        features.put("predivision", new Feature(builder -> builder.predivideFactor(4)));
        features.put("Adasum", new Feature(builder -> builder.op(ReduceOp.ADASUM)));
        features.put(
                "float16 compression",
                new Feature(builder -> builder.compression(Compression.FP16)));
        features.put(
                "bfloat16 compression",
                new Feature(builder -> builder.compression(Compression.BF16).predivideFactor(2)));
        features.put(
                "local gradients", new Feature(builder -> builder.local("03Linear_bias"::equals)));
        ProcessSet own = comm.size() == 2 ? comm.addProcessSet(0) : comm.processSet();
        features.put(
                "process set",
                new Feature(
                        2,
                        false,
                        builder ->
                                builder.processSet(own)
                                        .backwardPassesPerStep(2)
                                        .averageAccumulated(true)));
        features.put("clipping", new Feature(1, true, builder -> builder));
        return features;
    }

    private void trainsAsOnCpu(String name, Feature feature) {
        run(
                name,
                () -> {
                    try (TestTraining here = training(device, feature, "here " + name);
                            TestTraining reference =
                                    training(Device.cpu(), feature, "reference " + name)) {
                        for (int step = 0; step < STEPS; step++) {
                            step(here, feature);
                            step(reference, feature);
                        }
                        // both sides round in the same places
                        assertThat(here.weights())
                                .containsExactly(reference.weights(), within(1e-3f));
                    }
                });
    }

    private TestTraining training(Device where, Feature feature, String name) {
        return new TestTraining(
                where,
                TestTraining.network(),
                block ->
                        feature.settings
                                .apply(
                                        DistributedOptimizer.wrap(TestTraining.sgd(), block)
                                                .communicator(comm))
                                .name(name)
                                .build(),
                TestTraining.INPUT);
    }

    private void step(TestTraining training, Feature feature) {
        for (int pass = 0; pass < feature.passes; pass++) {
            training.pass(rank + pass, rank + pass + 3);
            if (feature.clips) {
                clip(training);
            } else {
                training.step();
            }
        }
    }

    private static void clip(TestTraining training) {
        training.optimizer().synchronize();
        for (String name : training.names()) {
            try (NDArray gradient = training.parameter(name).getArray().getGradient()) {
                NDArray _ = gradient.muli(0.5f);
            }
        }
        try (DistributedOptimizer.SkipScope _ = training.optimizer().skipSynchronize()) {
            training.step();
        }
    }

    /// A gradient is moved once, into memory that Horovod4J has allocated.
    private void gradientsStayOnDevice() {
        try (TestTraining training = training(device, new Feature(builder -> builder), "moved")) {
            step(training, new Feature(builder -> builder));
            NDArray weight = training.parameter("01Linear_weight").getArray();
            EngineAccess access = EngineAccess.of(weight.getManager());
            long before = address(access, weight);
            step(training, new Feature(builder -> builder));
            assertThat(address(access, weight)).isEqualTo(before);
            if (device.isGpu()) {
                assertThat(access.stream(device)).isPresent();
                assertThat(training.optimizer().overlap().isUsed()).isTrue();
            }
        }
    }

    private static long address(EngineAccess access, NDArray weight) {
        try (NDArray gradient = weight.getGradient()) {
            Tensor tensor = access.tensor(gradient).orElseThrow();
            return tensor.device().isHost() ? tensor.segment().address() : tensor.deviceAddress();
        }
    }

    private static float biasOfRoot() {
        try (TestTraining plain = trained(Device.cpu(), TestTraining.sgd())) {
            return plain.weight("01Linear_bias")[0] + 1;
        }
    }

    private static TestTraining trained(Device device, ai.djl.training.optimizer.Optimizer by) {
        return new TestTraining(device, TestTraining.network(), _ -> by, TestTraining.INPUT);
    }

    private void train() {
        try (TestTraining whole = trained(Device.cpu(), TestTraining.sgd());
                TestTraining share =
                        new TestTraining(
                                device,
                                TestTraining.network(),
                                block ->
                                        DistributedOptimizer.wrap(TestTraining.sgd(), block)
                                                .communicator(comm)
                                                .build(),
                                TestTraining.INPUT)) {
            int half = SAMPLES / 2;
            int arrays = 0;
            for (int step = 0; step < STEPS; step++) {
                whole.pass(0, SAMPLES);
                whole.step();
                share.pass(rank * half, (rank + 1) * half);
                share.step();
                if (step == 1) {
                    arrays = share.arrayCount();
                }
            }
            // First, because DJL keeps the copies on the host that reading weights makes.
            assertThat(share.arrayCount()).as("arrays of the model").isEqualTo(arrays);
            assertThat(share.weights()).containsExactly(whole.weights(), within(1e-4f));
            TestTraining.assertSameOnAllRanks(comm, share.weights());
        }
    }

    private NDArray rows(DataType type) {
        return manager.create(new float[] {1, 2, 3, 4, 5, 6}, new Shape(3, 2))
                .mul(rank + 1)
                .toType(type, true);
    }

    private static double[] times(double factor, double... values) {
        return Arrays.stream(values).map(value -> factor * value).toArray();
    }

    private void check(NDArray array, Shape shape, double... expected) {
        assertThat(array.getDevice()).isEqualTo(device);
        assertThat(array.getShape()).isEqualTo(shape);
        try (NDArray floats = array.toType(DataType.FLOAT32, true)) {
            float[] values = floats.toFloatArray();
            assertThat(IntStream.range(0, values.length).mapToDouble(i -> values[i]).toArray())
                    .containsExactly(expected);
        }
    }
}

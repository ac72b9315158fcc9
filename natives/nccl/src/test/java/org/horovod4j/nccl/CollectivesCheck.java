package org.horovod4j.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.AlltoallOptions;
import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.DeviceStream;
import org.horovod4j.ReduceOp;
import org.horovod4j.ReducescatterOptions;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.spi.Backend;
import org.horovod4j.spi.DeviceBackend;
import org.horovod4j.spi.DeviceBackendProvider;
import org.horovod4j.spi.DeviceContext;
import org.horovod4j.spi.DeviceDriver;
import org.horovod4j.spi.DeviceEvent;
import org.horovod4j.spi.DevicePlace;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.spi.HostExchange;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/// Runs all collectives of a backend for devices, and compares each with the same collective of main
/// memory. All ranks of a job do so.
public final class CollectivesCheck implements AutoCloseable {
    private final Communicator communicator;
    private final DeviceDriver driver;
    private final DeviceStream stream;
    private final int rank;
    private final int size;
    private final DeviceBackendProvider provider;
    private final DeviceBackend backend;
    private final Arena arena = Arena.ofShared();
    private int checked;

    /// @param create creates the backend of the provider
    public CollectivesCheck(
            Communicator communicator,
            DeviceDriver driver,
            DeviceBackendProvider provider,
            Function<DeviceContext, DeviceBackend> create) {
        this.communicator = communicator;
        this.driver = driver;
        this.stream = driver.openStream(true);
        this.rank = communicator.rank();
        this.size = communicator.size();
        this.provider = provider;
        HostExchange host = new CommunicatorHost(communicator);
        List<byte[]> identities = host.allgather(bytes(driver.identity()));
        List<byte[]> infos = host.allgather(bytes(provider.processInfo()));
        List<DevicePlace> places = new ArrayList<>();
        for (int other = 0; other < size; other++) {
            places.add(
                    new DevicePlace(
                            other,
                            "host",
                            "domain",
                            driver.device(),
                            text(identities.get(other)),
                            Map.of(provider.name(), text(infos.get(other)))));
        }
        assertThat(provider.unsupportedReason(places)).as("unsupported reason").isEmpty();
        this.backend = create.apply(context(communicator, driver, stream, places));
    }

    /// What a backend gets of core, by collectives of a real job.
    public static DeviceContext context(
            Communicator communicator,
            DeviceDriver driver,
            DeviceStream stream,
            List<DevicePlace> places) {
        return new DeviceContext(
                driver, stream, new CommunicatorHost(communicator), places, _ -> {});
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    DeviceBackend backend() {
        return backend;
    }

    DeviceStream stream() {
        return stream;
    }

    /// The number of results that were right.
    public int checked() {
        return checked;
    }

    /// Every collective with every data type.
    public void run() {
        for (DataType dataType : DataType.values()) {
            for (ReduceOp op : ReduceOp.values()) {
                if (op != ReduceOp.ADASUM
                        && provider.reduces(dataType, op)
                        && !(dataType == DataType.BOOL && op == ReduceOp.AVERAGE)) {
                    allreduce(dataType, dataType, op, Scale.NONE, 1);
                    allreduce(dataType, dataType, op, Scale.NONE, 3, 0, 1, 17, 1000);
                    if (op == ReduceOp.SUM || op == ReduceOp.AVERAGE) {
                        reducescatter(dataType, op, Scale.NONE, 4, 7, 1);
                    }
                    if (dataType != DataType.BOOL && op == ReduceOp.SUM) {
                        allreduce(dataType, dataType, op, new Scale(0.5, 2.0), 33, 5);
                        reducescatter(dataType, op, new Scale(0.5, 2.0), 8, 3);
                    }
                }
            }
            movesRows(dataType);
        }
        allreduce(DataType.FLOAT32, DataType.FLOAT16, ReduceOp.AVERAGE, Scale.NONE, 5, 1000);
        allreduce(DataType.FLOAT64, DataType.BFLOAT16, ReduceOp.SUM, new Scale(0.5, 2.0), 5, 1000);
        if (backend instanceof Backend.SupportsAdasum adasum) {
            for (DataType dataType : DataType.values()) {
                if (dataType.isFloatingPoint()) {
                    adasum(adasum, dataType, dataType, 1, 1000, 0, 2048, 5000);
                }
            }
            adasum(adasum, DataType.FLOAT32, DataType.FLOAT16, 1, 1000, 5000);
            adasum(adasum, DataType.FLOAT32, DataType.BFLOAT16, 1, 1000, 5000);
            adasum(adasum, DataType.FLOAT64, DataType.FLOAT16, 1, 1000, 5000);
        }
    }

    /// Some collectives of tensors that do not fit into the memory of a backend at once.
    public void runLarge(int count) {
        allreduce(DataType.FLOAT32, DataType.FLOAT32, ReduceOp.SUM, Scale.NONE, count);
        allreduce(
                DataType.FLOAT32, DataType.FLOAT32, ReduceOp.SUM, Scale.NONE, count / 2, 5, count);
        reducescatter(DataType.FLOAT32, ReduceOp.SUM, Scale.NONE, count, 5);
        if (backend instanceof Backend.SupportsAdasum adasum) {
            adasum(adasum, DataType.FLOAT32, DataType.FLOAT32, count);
            adasum(adasum, DataType.FLOAT32, DataType.FLOAT16, 3L * count);
        }
    }

    /// The values of `rank`, which every rank can calculate.
    private MemorySegment values(DataType dataType, long count, int ofRank) {
        MemorySegment memory = arena.allocate(Math.max(1, count * dataType.byteSize()), 64);
        for (long i = 0; i < count; i++) {
            int value =
                    (int) ((i * 7 + ofRank * 3L) % 11 - (dataType.name().startsWith("U") ? 0 : 4));
            switch (dataType) {
                case UINT8, INT8 -> memory.setAtIndex(ValueLayout.JAVA_BYTE, i, (byte) value);
                case BOOL ->
                        memory.setAtIndex(ValueLayout.JAVA_BYTE, i, (byte) (value > 0 ? 1 : 0));
                case UINT16, INT16 -> memory.setAtIndex(ValueLayout.JAVA_SHORT, i, (short) value);
                case INT32 -> memory.setAtIndex(ValueLayout.JAVA_INT, i, value);
                case INT64 -> memory.setAtIndex(ValueLayout.JAVA_LONG, i, value);
                case FLOAT16 ->
                        memory.setAtIndex(
                                ValueLayout.JAVA_SHORT, i, Float.floatToFloat16(value * 0.5f));
                case BFLOAT16 ->
                        memory.setAtIndex(
                                ValueLayout.JAVA_SHORT,
                                i,
                                (short) (Float.floatToRawIntBits(value * 0.5f) >>> 16));
                case FLOAT32 -> memory.setAtIndex(ValueLayout.JAVA_FLOAT, i, value * 0.5f);
                case FLOAT64 -> memory.setAtIndex(ValueLayout.JAVA_DOUBLE, i, value * 0.5);
            }
        }
        return memory.asSlice(0, count * dataType.byteSize());
    }

    private Tensor upload(MemorySegment memory, DataType dataType, Shape shape) {
        Tensor tensor = driver.allocate(dataType, shape);
        driver.copyToDevice(memory, tensor.deviceAddress(), stream);
        await();
        return tensor;
    }

    private MemorySegment download(Tensor tensor) {
        MemorySegment memory = arena.allocate(Math.max(1, tensor.byteSize()), 64);
        driver.copyToHost(tensor.deviceAddress(), memory.asSlice(0, tensor.byteSize()), results());
        await();
        return memory.asSlice(0, tensor.byteSize());
    }

    private DeviceStream results() {
        return backend.resultStream(stream);
    }

    void await() {
        await(stream);
        await(results());
    }

    private void await(DeviceStream awaited) {
        DeviceEvent event = driver.record(awaited);
        while (!event.isComplete()) {
            Thread.onSpinWait();
        }
        event.release();
    }

    /// All values and sums are small multiples of 0.5, so that every order of additions gives the same.
    private void allreduce(
            DataType dataType, DataType wireType, ReduceOp op, Scale scale, long... counts) {
        FusedTensors fused = new FusedTensors(dataType, wireType, counts);
        List<Tensor> expected = new ArrayList<>();
        List<Tensor> tensors = new ArrayList<>();
        for (int i = 0; i < counts.length; i++) {
            MemorySegment values = values(dataType, counts[i], rank);
            Tensor tensor = upload(values, dataType, Shape.of(counts[i]));
            tensors.add(tensor);
            fused.setAddresses(i, tensor.deviceAddress(), tensor.deviceAddress());
            expected.add(
                    communicator.allreduce(
                            "expected",
                            Tensor.of(values, dataType),
                            AllreduceOptions.of(op).withScale(scale)));
        }
        communicator.barrier();
        ((Backend.SupportsAllreduce) backend).allreduce(fused, op, scale, size);
        for (int i = 0; i < counts.length; i++) {
            String what = "allreduce %s %s".formatted(op, Arrays.toString(counts));
            if (op == ReduceOp.AVERAGE && Integer.bitCount(size) > 1) {
                assertClose(what, wireType, expected.get(i), tensors.get(i));
            } else {
                assertEqual(what, expected.get(i), tensors.get(i));
            }
        }
    }

    private void adasum(
            Backend.SupportsAdasum adasum, DataType dataType, DataType wireType, long... counts) {
        FusedTensors fused = new FusedTensors(dataType, wireType, counts);
        List<Tensor> expected = new ArrayList<>();
        List<Tensor> tensors = new ArrayList<>();
        for (int i = 0; i < counts.length; i++) {
            MemorySegment values = values(dataType, counts[i], rank);
            Tensor tensor = upload(values, dataType, Shape.of(counts[i]));
            tensors.add(tensor);
            fused.setAddresses(i, tensor.deviceAddress(), tensor.deviceAddress());
            expected.add(
                    communicator.allreduce(
                            "expected", Tensor.of(values, dataType), ReduceOp.ADASUM));
        }
        communicator.barrier();
        adasum.adasum(fused, Scale.NONE);
        for (int i = 0; i < counts.length; i++) {
            assertClose(
                    "adasum as %s %s".formatted(wireType, Arrays.toString(counts)),
                    wireType,
                    expected.get(i),
                    tensors.get(i));
        }
    }

    private void reducescatter(DataType dataType, ReduceOp op, Scale scale, long... rows) {
        List<Shape> shapes = Arrays.stream(rows).mapToObj(each -> Shape.of(each, 3)).toList();
        FusedTensors fused = FusedTensors.forReducescatter(dataType, shapes, rank, size);
        List<Tensor> expected = new ArrayList<>();
        List<Tensor> outputs = new ArrayList<>();
        List<Tensor> inputs = new ArrayList<>();
        for (int i = 0; i < rows.length; i++) {
            MemorySegment values = values(dataType, rows[i] * 3, rank);
            Tensor input = upload(values, dataType, shapes.get(i));
            Tensor output =
                    driver.allocate(dataType, Shape.of(fused.outputEnd(i) - fused.outputStart(i)));
            inputs.add(input);
            outputs.add(output);
            fused.setAddresses(i, input.deviceAddress(), output.deviceAddress());
            expected.add(
                    communicator.reducescatter(
                            "expected",
                            Tensor.of(values, dataType, shapes.get(i)),
                            ReducescatterOptions.of(op).withScale(scale)));
        }
        communicator.barrier();
        ((Backend.SupportsReducescatter) backend).reducescatter(fused, op, scale, size);
        for (int i = 0; i < rows.length; i++) {
            String what = "reducescatter %s %s".formatted(op, Arrays.toString(rows));
            if (op == ReduceOp.AVERAGE && Integer.bitCount(size) > 1) {
                assertClose(what, dataType, expected.get(i), outputs.get(i));
            } else {
                assertEqual(what, expected.get(i), outputs.get(i));
            }
        }
        assertThat(inputs).hasSize(rows.length);
    }

    private void movesRows(DataType dataType) {
        int[] even = new int[size];
        Arrays.fill(even, 5);
        int[] uneven = new int[size];
        Arrays.setAll(uneven, other -> other * 2);
        for (int[] rows : List.of(even, uneven)) {
            MemorySegment mine = values(dataType, rows[rank] * 3L, rank);
            Tensor input = upload(mine, dataType, Shape.of(rows[rank], 3));
            Tensor output = driver.allocate(dataType, Shape.of(Arrays.stream(rows).sum(), 3));
            long[][] table = new long[size][];
            Arrays.setAll(table, other -> new long[] {rows[other]});
            Tensor expected =
                    communicator.allgather("expected", Tensor.of(mine, dataType, rows[rank], 3));
            communicator.barrier();
            ((Backend.SupportsAllgather) backend).allgather(List.of(input), List.of(output), table);
            assertEqual("allgather", expected, output);
        }
        for (int root = 0; root < size; root++) {
            Tensor tensor = upload(values(dataType, 1001, rank), dataType, Shape.of(1001));
            communicator.barrier();
            ((Backend.SupportsBroadcast) backend).broadcast(tensor, root);
            assertEqual("broadcast", Tensor.of(values(dataType, 1001, root), dataType), tensor);
        }
        // rank r sends r + 2 k rows to rank k
        int[] splits = new int[size];
        int[] received = new int[size];
        Arrays.setAll(splits, other -> rank + 2 * other);
        Arrays.setAll(received, other -> other + 2 * rank);
        int sent = Arrays.stream(splits).sum();
        MemorySegment mine = values(dataType, sent * 3L, rank);
        Tensor input = upload(mine, dataType, Shape.of(sent, 3));
        Tensor output = driver.allocate(dataType, Shape.of(Arrays.stream(received).sum(), 3));
        Tensor expected =
                communicator
                        .alltoall(
                                "expected",
                                Tensor.of(mine, dataType, sent, 3),
                                AlltoallOptions.splits(splits))
                        .tensor();
        long[][] rows = new long[size][size];
        for (int from = 0; from < size; from++) {
            int sender = from;
            Arrays.setAll(rows[from], to -> sender + 2L * to);
        }
        communicator.barrier();
        ((Backend.SupportsAlltoall) backend).alltoall(input, output, rows);
        assertEqual("alltoall", expected, output);
    }

    private void assertEqual(String what, Tensor expected, Tensor actual) {
        MemorySegment result = download(actual);
        assertThat(result.byteSize()).as("%s, bytes", what).isEqualTo(expected.byteSize());
        assertThat(result.mismatch(expected.segment()))
                .as("%s of %s: first byte that differs", what, actual.dataType())
                .isEqualTo(-1);
        checked++;
    }

    /// Equal but for rounding: a library may multiply by the reciprocal, and the CPU divides a large
    /// Adasum among the ranks.
    private void assertClose(String what, DataType wireType, Tensor expected, Tensor actual) {
        if (!expected.dataType().isFloatingPoint()) {
            assertEqual(what, expected, actual);
            return;
        }
        MemorySegment result = download(actual);
        for (long i = 0; i < expected.elementCount(); i++) {
            double wanted = element(expected.dataType(), expected.segment(), i);
            double tolerance =
                    Math.max(1, Math.abs(wanted))
                            * (wireType.byteSize() == Short.BYTES ? 0x1p-7 : 0x1p-20);
            assertThat(element(expected.dataType(), result, i))
                    .as("%s of %s, element %d", what, expected.dataType(), i)
                    .isCloseTo(wanted, within(tolerance));
        }
        checked++;
    }

    private static double element(DataType dataType, MemorySegment memory, long i) {
        return switch (dataType) {
            case FLOAT16 ->
                    Float.float16ToFloat(memory.get(ValueLayout.JAVA_SHORT_UNALIGNED, 2 * i));
            case BFLOAT16 ->
                    Float.intBitsToFloat(memory.get(ValueLayout.JAVA_SHORT_UNALIGNED, 2 * i) << 16);
            case FLOAT32 -> memory.get(ValueLayout.JAVA_FLOAT_UNALIGNED, 4 * i);
            case FLOAT64 -> memory.get(ValueLayout.JAVA_DOUBLE_UNALIGNED, 8 * i);
            case UINT8, INT8, UINT16, INT16, INT32, INT64, BOOL ->
                    throw new IllegalArgumentException(dataType.toString());
        };
    }

    @Override
    public void close() {
        backend.close();
        driver.closeStream(stream);
        arena.close();
    }
}

package org.horovod4j.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import org.horovod4j.ConfigurationException;
import org.horovod4j.DataType;
import org.horovod4j.DeviceStream;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.spi.DeviceDriver;
import org.horovod4j.spi.DeviceEvent;
import org.horovod4j.spi.FusedTensors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

@Tag("gpu")
class CudaDeviceDriverTest {
    private final Arena arena = Arena.ofShared();
    private DeviceDriver driver;
    private DeviceStream stream;

    @BeforeEach
    void open() {
        String reason = Cuda.unavailableReason();
        assumeTrue(reason.isEmpty(), () -> "needs a GPU, but " + reason);
        driver = new CudaDeviceProvider().open(0);
        stream = driver.openStream(true);
    }

    @AfterEach
    void close() {
        if (driver != null) {
            driver.close();
        }
        arena.close();
    }

    @Test
    void newTensorsAreZero() {
        Tensor tensor = driver.allocate(DataType.FLOAT32, Shape.of(1000));
        assertThat(download(tensor)).containsOnly(0f);
    }

    @Test
    void copiesThroughPinnedMemory() throws Exception {
        float[] values = ramp(100_000);
        MemorySegment memory = arena.allocate(values.length * 4L, 4096);
        MemorySegment.copy(values, 0, memory, JAVA_FLOAT, 0, values.length);
        Tensor tensor = driver.allocate(DataType.FLOAT32, Shape.of(values.length));
        try (DeviceDriver.PinnedMemory _ = driver.pin(memory)) {
            driver.copyToDevice(memory, tensor.deviceAddress(), stream);
            driver.scale(DataType.FLOAT32, tensor.deviceAddress(), values.length, 2.0, stream);
            driver.copyToHost(tensor.deviceAddress(), memory, stream);
            await();
        }
        for (int i = 0; i < values.length; i++) {
            assertThat(memory.getAtIndex(JAVA_FLOAT, i)).isEqualTo(2 * values[i]);
        }
    }

    /// The work of one stream starts when the event on the other is reached.
    @Test
    void streamWaitsForAnEventOfAnotherStream() {
        DeviceStream other = driver.openStream(false);
        int count = 50_000_000;
        Tensor tensor = driver.allocate(DataType.FLOAT32, Shape.of(count));
        driver.fill(tensor.deviceAddress(), count, 4, Float.floatToRawIntBits(1f), stream);
        for (int i = 0; i < 20; i++) {
            driver.scale(DataType.FLOAT32, tensor.deviceAddress(), count, 2.0, stream);
        }
        DeviceEvent event = driver.record(stream);
        event.awaitOn(other);
        driver.scale(DataType.FLOAT32, tensor.deviceAddress(), count, 3.0, other);
        DeviceEvent end = driver.record(other);
        while (!end.isComplete()) {
            Thread.onSpinWait();
        }
        assertThat(event.isComplete()).isTrue();
        event.release();
        end.release();
        float expected = 3f * (1 << 20);
        float[] result = download(tensor);
        assertThat(result[0]).isEqualTo(expected);
        assertThat(result[count - 1]).isEqualTo(expected);
        driver.closeStream(other);
    }

    @Test
    void packsScalesAndConvertsAPartOfFusedTensors() {
        FusedTensors fused =
                new FusedTensors(DataType.FLOAT32, DataType.FLOAT16, new long[] {5, 0, 7, 1000});
        Tensor[] tensors = new Tensor[4];
        for (int i = 0; i < 4; i++) {
            int count = (int) (fused.start(i + 1) - fused.start(i));
            tensors[i] = upload(ramp(count));
            fused.setAddresses(i, tensors[i].deviceAddress(), tensors[i].deviceAddress());
        }
        Tensor packed = driver.allocate(DataType.FLOAT16, Shape.of(20));
        driver.pack(fused, 3, 20, 2.0, packed.deviceAddress(), stream);
        driver.unpack(fused, packed.deviceAddress(), 3, 20, 2.0, stream);
        await();
        assertThat(download(tensors[0])).containsExactly(0f, 1f, 2f, 12f, 16f);
        assertThat(download(tensors[2])).containsExactly(0f, 4f, 8f, 12f, 16f, 20f, 24f);
        float[] last = download(tensors[3]);
        for (int i = 0; i < last.length; i++) {
            assertThat(last[i]).isEqualTo(i < 11 ? 4f * i : i);
        }
    }

    /// The steps of top-k compression: add what was not sent, select, sum, keep the rest.
    @Test
    void selectsAddsAndClearsValues() {
        Tensor gradient = upload(1, -5, Float.NaN, 3, 0.5f);
        Tensor residual = upload(1, 1, 0, -4, 0);
        Tensor corrected = driver.allocate(DataType.FLOAT32, Shape.of(5));
        Tensor scratch =
                driver.allocate(DataType.UINT8, Shape.of(driver.selections().scratchBytes()));
        Tensor positions = driver.allocate(DataType.INT32, Shape.of(2));
        Tensor picked = driver.allocate(DataType.FLOAT32, Shape.of(2));
        driver.selections()
                .add(
                        DataType.FLOAT32,
                        gradient.deviceAddress(),
                        residual.deviceAddress(),
                        corrected.deviceAddress(),
                        5,
                        stream);
        driver.selections()
                .selectLargest(
                        DataType.FLOAT32,
                        corrected.deviceAddress(),
                        5,
                        2,
                        positions.deviceAddress(),
                        picked.deviceAddress(),
                        scratch.deviceAddress(),
                        stream);
        assertThat(download(picked)).containsExactly(-4, Float.NaN); // at 1 and 2

        Tensor sum = driver.allocate(DataType.FLOAT32, Shape.of(5));
        Tensor values = upload(7, 9);
        for (int rank = 0; rank < 2; rank++) {
            driver.selections()
                    .addAt(
                            DataType.FLOAT32,
                            sum.deviceAddress(),
                            positions.deviceAddress(),
                            values.deviceAddress(),
                            2,
                            stream);
        }
        driver.selections().divide(DataType.FLOAT32, sum.deviceAddress(), 5, 4, stream);
        assertThat(download(sum)).containsExactly(0, 3.5f, 4.5f, 0, 0);

        Tensor rest = upload(2, -4, 1, Float.POSITIVE_INFINITY, Float.NaN);
        driver.selections()
                .clear(
                        DataType.FLOAT32,
                        rest.deviceAddress(),
                        5,
                        positions.deviceAddress(),
                        2,
                        stream);
        assertThat(download(rest)).containsExactly(2, 0, 0, 0, 0);
    }

    @Test
    void failureHasTheWordsOfCuda() {
        assertThatThrownBy(() -> driver.allocate(DataType.UINT8, Shape.of(1L << 50)))
                .isInstanceOf(CudaException.class)
                .hasMessage(
                        "cuMemAlloc of %d bytes failed: CUDA_ERROR_OUT_OF_MEMORY (out of memory)"
                                .formatted(1L << 50));
        assertThatThrownBy(() -> new CudaDeviceProvider().open(99))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageStartingWith("cuda:99 cannot be used: there is no CUDA device 99");
    }

    private static float[] ramp(int count) {
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = i;
        }
        return values;
    }

    private Tensor upload(float... values) {
        Tensor tensor = driver.allocate(DataType.FLOAT32, Shape.of(values.length));
        MemorySegment memory = arena.allocateFrom(JAVA_FLOAT, values);
        driver.copyToDevice(memory, tensor.deviceAddress(), stream);
        await();
        return tensor;
    }

    private float[] download(Tensor tensor) {
        MemorySegment memory = arena.allocate(JAVA_FLOAT, tensor.elementCount());
        driver.copyToHost(tensor.deviceAddress(), memory, stream);
        await();
        return memory.toArray(JAVA_FLOAT);
    }

    private void await() {
        DeviceEvent event = driver.record(stream);
        while (!event.isComplete()) {
            Thread.onSpinWait();
        }
        event.release();
    }
}

package org.horovod4j.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.DataType;
import org.horovod4j.DeviceStream;
import org.horovod4j.HorovodException;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.spi.Backend;
import org.horovod4j.spi.DeviceBackend;
import org.horovod4j.spi.DeviceBackendProvider;
import org.horovod4j.spi.DeviceDriver;
import org.horovod4j.spi.DeviceEvent;
import org.horovod4j.spi.DeviceProvider;
import org.horovod4j.spi.FusedTensors;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.ServiceLoader;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/// A rank that runs all collectives of one backend on the first GPU, and compares each with the same
/// collective of main memory.
///
/// Arguments: the name of the backend, and what to do: `collectives`, `speed` or `lost`.
final class CollectivesRank {
    private final DeviceDriver driver =
            ServiceLoader.load(DeviceProvider.class).findFirst().orElseThrow().open(0);
    private final int rank = Hvd.rank();
    private final int size = Hvd.size();
    private final DeviceBackendProvider provider;
    private final CollectivesCheck check;
    private final DeviceBackend backend;
    private final DeviceStream stream;

    private CollectivesRank(String name) {
        this.provider =
                ServiceLoader.load(DeviceBackendProvider.class).stream()
                        .map(ServiceLoader.Provider::get)
                        .filter(each -> each.name().equals(name))
                        .findFirst()
                        .orElseThrow();
        this.check = new CollectivesCheck(Hvd.communicator(), driver, provider, provider::create);
        this.backend = check.backend();
        this.stream = check.stream();
        if (rank == 0) {
            System.out.printf("%s: %s on %s%n", name, provider.describe(), driver.describe());
        }
    }

    public static void main(String[] arguments) {
        Hvd.init();
        CollectivesRank program = new CollectivesRank(arguments[0]);
        switch (arguments[1]) {
            case "collectives" -> {
                program.check.run();
                program.check.runLarge(11_000_003);
            }
            case "speed" -> program.speed();
            case "lost" -> program.lost();
            default -> throw new IllegalArgumentException(arguments[1]);
        }
        program.check.close();
        program.driver.close();
        System.out.printf("rank %d checked %d results%n", program.rank, program.check.checked());
        Hvd.shutdown();
    }

    /// Prints the median time of an allreduce, from its launch to its completion on the CPU.
    private void speed() {
        for (long count : new long[] {1, 256 * 1024, 16 * 1024 * 1024}) {
            time("1 tensor", count);
        }
        // the shapes of ResNet-50 have about this many elements
        long[] counts = new long[161];
        Arrays.setAll(counts, i -> i % 3 == 0 ? 400_000 + 1024L * i : 256L * (1 + i % 8));
        time("161 tensors", counts);
        timePack(counts);
    }

    private void time(String what, long... counts) {
        FusedTensors fused = new FusedTensors(DataType.FLOAT32, counts);
        List<Tensor> tensors = new ArrayList<>();
        for (int i = 0; i < counts.length; i++) {
            Tensor tensor = driver.allocate(DataType.FLOAT32, Shape.of(counts[i]));
            tensors.add(tensor);
            fused.setAddresses(i, tensor.deviceAddress(), tensor.deviceAddress());
        }
        double[] micros = new double[counts[0] > 1_000_000 ? 30 : 300];
        for (int round = -micros.length; round < micros.length; round++) {
            Hvd.barrier();
            long start = System.nanoTime();
            ((Backend.SupportsAllreduce) backend).allreduce(fused, ReduceOp.SUM, Scale.NONE, size);
            check.await();
            if (round >= 0) {
                micros[round] = (System.nanoTime() - start) / 1e3;
            }
        }
        Arrays.sort(micros);
        if (rank == 0) {
            System.out.printf(
                    Locale.ROOT,
                    "SPEED %s allreduce of %s, %d bytes: median %.1f us, least %.1f us%n",
                    provider.name(),
                    what,
                    fused.byteSize(),
                    micros[micros.length / 2],
                    micros[0]);
        }
        assertThat(tensors).hasSize(counts.length);
    }

    /// Prints the bandwidth of packing and unpacking, beside that of a copy of the same size on the
    /// device.
    private void timePack(long... counts) {
        FusedTensors fused = new FusedTensors(DataType.FLOAT32, counts);
        List<Tensor> tensors = new ArrayList<>();
        for (int i = 0; i < counts.length; i++) {
            Tensor tensor = driver.allocate(DataType.FLOAT32, Shape.of(counts[i]));
            tensors.add(tensor);
            fused.setAddresses(i, tensor.deviceAddress(), tensor.deviceAddress());
        }
        long count = fused.elementCount();
        Tensor buffer = driver.allocate(DataType.FLOAT32, Shape.of(count));
        Tensor other = driver.allocate(DataType.FLOAT32, Shape.of(count));
        long to = buffer.deviceAddress();
        double copy =
                terabytesPerSecond(
                        fused,
                        () -> driver.copy(to, other.deviceAddress(), fused.byteSize(), stream));
        double pack =
                terabytesPerSecond(fused, () -> driver.pack(fused, 0, count, 1.0, to, stream));
        double unpack =
                terabytesPerSecond(fused, () -> driver.unpack(fused, to, 0, count, 1.0, stream));
        double scaled =
                terabytesPerSecond(fused, () -> driver.pack(fused, 0, count, 0.5, to, stream));
        if (rank == 0) {
            System.out.printf(
                    Locale.ROOT,
                    "SPEED of %d tensors, TB/s read and written: copy %.2f, pack %.2f, unpack %.2f, scaled pack %.2f%n",
                    tensors.size(),
                    copy,
                    pack,
                    unpack,
                    scaled);
        }
    }

    private double terabytesPerSecond(FusedTensors fused, Runnable launch) {
        double best = 0;
        for (int round = 0; round < 5; round++) {
            check.await();
            long start = System.nanoTime();
            for (int i = 0; i < 50; i++) {
                launch.run();
            }
            check.await();
            best = Math.max(best, 50 * 2e-3 * fused.byteSize() / (System.nanoTime() - start));
        }
        return best;
    }

    /// Rank 1 ends without a word, while rank 0 is in an allreduce with it. Rank 0 prints what it sees.
    private void lost() {
        Tensor tensor = driver.allocate(DataType.FLOAT32, Shape.of(1_000_000));
        FusedTensors fused = new FusedTensors(DataType.FLOAT32, 1_000_000);
        fused.setAddresses(0, tensor.deviceAddress(), tensor.deviceAddress());
        Backend.SupportsAllreduce allreduce = (Backend.SupportsAllreduce) backend;
        allreduce.allreduce(fused, ReduceOp.SUM, Scale.NONE, size);
        check.await();
        Hvd.barrier();
        if (rank == 1) {
            Runtime.getRuntime().halt(9);
        }
        long start = System.nanoTime();
        // as core's monitor does when it learns of the loss
        try (ScheduledExecutorService monitor = Executors.newSingleThreadScheduledExecutor()) {
            AtomicBoolean aborted = new AtomicBoolean();
            Future<?> _ =
                    monitor.schedule(
                            () -> {
                                aborted.set(true);
                                backend.abort();
                            },
                            1,
                            TimeUnit.SECONDS);
            allreduce.allreduce(fused, ReduceOp.SUM, Scale.NONE, size);
            awaitOrFail();
            // without the abort, it cannot have been an allreduce with the other rank
            System.out.println(aborted.get() ? "LOST aborted" : "LOST completed");
        } catch (HorovodException e) {
            System.out.println("LOST failed: " + e.getMessage());
        }
        backend.abort();
        driver.closeStream(stream);
        System.out.printf(
                Locale.ROOT,
                "LOST after %.1f s, tensor of %s%n",
                (System.nanoTime() - start) / 1e9,
                tensor.shape());
        Runtime.getRuntime().halt(0);
    }

    private void awaitOrFail() {
        DeviceEvent event = driver.record(backend.resultStream(stream));
        while (!event.isComplete()) {
            backend.check();
            Thread.onSpinWait();
        }
        event.release();
    }
}

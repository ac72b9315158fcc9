package org.horovod4j.runtime.device;

import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.DeviceStream;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.spi.DeviceBackendProvider;
import org.horovod4j.spi.DeviceDriver;
import org.horovod4j.spi.DeviceEvent;
import org.horovod4j.spi.DeviceWait;
import org.jspecify.annotations.Nullable;

import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/// The devices that a rank uses. Its process sets share them. Any thread may call it.
public final class RankDevices implements AutoCloseable {
    private final Supplier<DeviceLibraries> loader;
    private final int localRank;
    private final Map<Device, OpenDevice> open = new HashMap<>();
    private @Nullable DeviceLibraries libraries;

    /// A device in use.
    ///
    /// @param stream for copies of the program
    /// @param workStream for work between operations, such as compression
    private record OpenDevice(DeviceDriver driver, DeviceStream stream, DeviceStream workStream) {}

    /// @param loader finds drivers and backends, when the first device is used
    /// @param localRank this rank on its host
    public RankDevices(Supplier<DeviceLibraries> loader, int localRank) {
        this.loader = loader;
        this.localRank = localRank;
    }

    /// The driver of a device, which is opened when it is first used.
    ///
    /// @throws org.horovod4j.ConfigurationException if there is no such device or no driver for it
    public DeviceDriver driver(Device device) {
        return open(device).driver;
    }

    /// A stream for work between operations, such as compression.
    public DeviceStream workStream(Device device) {
        return open(device).workStream;
    }

    private synchronized OpenDevice open(Device device) {
        OpenDevice known = open.get(device);
        if (known != null) {
            return known;
        }
        DeviceDriver driver = libraries().provider(device.kind()).open(device.index());
        OpenDevice opened =
                new OpenDevice(driver, driver.openStream(false), driver.openStream(true));
        open.put(device, opened);
        return opened;
    }

    /// The device for a rank that takes part without tensors of its own: one that it has used, or the
    /// one with the number of its local rank.
    synchronized Device anyOf(Device.Kind kind) {
        return open.keySet().stream()
                .filter(device -> device.kind() == kind)
                .findFirst()
                .orElseGet(
                        () -> {
                            int count = libraries().provider(kind).count();
                            return new Device(kind, count == 0 ? 0 : localRank % count);
                        });
    }

    /// The backends for a kind of device, those with the highest preference first.
    synchronized List<DeviceBackendProvider> backends(Device.Kind kind) {
        return libraries().backends(kind);
    }

    private DeviceLibraries libraries() {
        DeviceLibraries found = libraries;
        if (found == null) {
            found = loader.get();
            libraries = found;
        }
        return found;
    }

    public Tensor allocate(Device device, DataType dataType, Shape shape) {
        return driver(device).allocate(dataType, shape);
    }

    /// Copies all elements, after the streams that compute the tensors. Returns when they are copied.
    public void copy(Tensor source, Tensor target) {
        if (source.dataType() != target.dataType()
                || source.elementCount() != target.elementCount()) {
            throw new IllegalArgumentException(
                    "%s cannot be copied to %s: type and number of elements must be the same"
                            .formatted(source, target));
        }
        if (source.device().isHost() && target.device().isHost()) {
            target.segment().copyFrom(source.segment());
            return;
        }
        if (isInHeap(source)) {
            copyByDriver(source.copy(), target);
        } else if (isInHeap(target)) {
            Tensor buffer = target.copy();
            copyByDriver(source, buffer);
            target.segment().copyFrom(buffer.segment());
        } else {
            copyByDriver(source, target);
        }
    }

    /// Drivers take addresses, which memory of the heap does not have.
    private static boolean isInHeap(Tensor tensor) {
        return tensor.device().isHost() && !tensor.segment().isNative();
    }

    private void copyByDriver(Tensor source, Tensor target) {
        try {
            OpenDevice device = open(source.device().isHost() ? target.device() : source.device());
            awaitProducer(source, device.stream);
            awaitProducer(target, device.stream);
            if (source.device().isHost()) {
                device.driver.copyToDevice(source.segment(), target.deviceAddress(), device.stream);
            } else if (target.device().isHost()) {
                device.driver.copyToHost(source.deviceAddress(), target.segment(), device.stream);
            } else {
                device.driver.copy(
                        source.deviceAddress(),
                        target.deviceAddress(),
                        source.byteSize(),
                        device.stream);
            }
            DeviceWait.await(device.driver.record(device.stream), () -> {});
        } finally {
            Reference.reachabilityFence(source);
            Reference.reachabilityFence(target);
        }
    }

    /// Launches the multiplication of a tensor, after the stream that computes it.
    ///
    /// @return the tensor, ready on the stream for such work
    public Tensor scale(Tensor tensor, double factor) {
        OpenDevice device = open(tensor.device());
        awaitProducer(tensor, device.workStream);
        device.driver.scale(
                tensor.dataType(),
                tensor.deviceAddress(),
                tensor.elementCount(),
                factor,
                device.workStream);
        return tensor.readyOn(device.workStream);
    }

    private void awaitProducer(Tensor tensor, DeviceStream stream) {
        tensor.producer()
                .ifPresent(
                        producer -> {
                            DeviceEvent ready = driver(tensor.device()).record(producer);
                            try {
                                ready.awaitOn(stream);
                            } finally {
                                ready.release();
                            }
                        });
    }

    /// Closes all drivers, after the process sets that use them.
    @Override
    public synchronized void close() {
        List<OpenDevice> all = new ArrayList<>(open.values());
        open.clear();
        for (OpenDevice each : all) {
            each.driver.closeStream(each.stream);
            each.driver.closeStream(each.workStream);
            each.driver.close();
        }
    }
}

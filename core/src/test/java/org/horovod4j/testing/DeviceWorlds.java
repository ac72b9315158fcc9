package org.horovod4j.testing;

import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.DeviceStream;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.runtime.device.DeviceLibraries;
import org.horovod4j.spi.DeviceBackendProvider;
import org.horovod4j.spi.DeviceProvider;

import java.util.List;
import java.util.function.IntFunction;

/// Worlds whose ranks have fake devices, and tensors on these.
public final class DeviceWorlds {
    private DeviceWorlds() {}

    /// Ranks that have these backends, and `HOST`.
    public static World of(int size, DeviceBackendProvider... backends) {
        return of(World.of(size), _ -> List.of(backends));
    }

    /// Ranks that may have different backends.
    ///
    /// @param backends of each rank
    public static World of(World world, IntFunction<List<DeviceBackendProvider>> backends) {
        return of(world, _ -> new FakeDeviceProvider(), backends);
    }

    /// Ranks that may have different devices and backends.
    ///
    /// @param devices of each rank
    /// @param backends of each rank
    public static World of(
            World world,
            IntFunction<DeviceProvider> devices,
            IntFunction<List<DeviceBackendProvider>> backends) {
        return world.withDevices(
                rank -> new DeviceLibraries(List.of(devices.apply(rank)), backends.apply(rank)));
    }

    /// Ranks without any device.
    public static World without(int size) {
        return World.of(size).withDevices(_ -> new DeviceLibraries(List.of(), List.of()));
    }

    /// Ranks of which only rank 0 has devices.
    public static World onRank0(int size) {
        return World.of(size)
                .withDevices(
                        rank ->
                                new DeviceLibraries(
                                        rank == 0 ? List.of(new FakeDeviceProvider()) : List.of(),
                                        List.of()));
    }

    /// The device of a rank.
    public static Device device(Communicator comm) {
        return Device.cuda(comm.localRank() % 4);
    }

    /// A tensor on the device of a rank.
    public static Tensor onDevice(Communicator comm, Tensor values) {
        Tensor tensor = comm.allocate(device(comm), values.dataType(), values.shape());
        comm.copy(values, tensor);
        return tensor;
    }

    public static Tensor onDevice(Communicator comm, float... values) {
        return onDevice(comm, Tensor.of(values));
    }

    /// A copy in main memory.
    public static Tensor onHost(Communicator comm, Tensor tensor) {
        Tensor copy = Tensor.zeros(tensor.dataType(), tensor.shape());
        comm.copy(tensor, copy);
        return copy;
    }

    public static float[] hostValues(Communicator comm, Tensor tensor) {
        return onHost(comm, tensor).toFloatArray();
    }

    /// The copies between devices and memory that is not pinned, of all ranks, since the last call: `up`
    /// or `down`.
    public static List<String> takeUnpinnedCopies() {
        return FakeDriver.takeUnpinnedCopies();
    }

    /// A stream of a framework.
    public static DeviceStream stream(Communicator comm) {
        return FakeStream.open(device(comm));
    }

    /// Launches work of a framework.
    public static void launch(DeviceStream stream, Runnable work) {
        FakeStream.of(stream).launch(work);
    }

    /// Writes values to a tensor at once, as a kernel of a framework does.
    public static void write(Tensor tensor, float... values) {
        FakeDriver.memory(tensor.deviceAddress(), tensor.byteSize())
                .copyFrom(Tensor.of(values).segment());
    }

    /// Reads the values of a tensor at once, as a kernel of a framework does.
    public static float[] read(Tensor tensor) {
        return Tensor.of(
                        FakeDriver.memory(tensor.deviceAddress(), tensor.byteSize()),
                        DataType.FLOAT32,
                        Shape.of(tensor.elementCount()))
                .toFloatArray();
    }
}

package org.horovod4j.training;

import org.horovod4j.Communicator;
import org.horovod4j.ConfigurationException;
import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.log.Log;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/// Whether collectives can use tensors on a device where they are. Otherwise the adapter of a
/// framework copies them through main memory.
public final class DeviceSupport {
    private static final Logger LOG = Log.of(DeviceSupport.class);

    /// What this process has found. Jars and drivers do not change while it runs.
    private static final Map<Device, Boolean> FOUND = new ConcurrentHashMap<>();

    private DeviceSupport() {}

    /// Opens the device at the first call. If that fails, logs the reason once.
    public static boolean isAvailable(Communicator communicator, Device device) {
        return device.isHost() || FOUND.computeIfAbsent(device, _ -> open(communicator, device));
    }

    private static boolean open(Communicator communicator, Device device) {
        try {
            Tensor _ = communicator.allocate(device, DataType.UINT8, Shape.of(1));
            return true;
        } catch (ConfigurationException e) {
            LOG.log(
                    Level.WARNING,
                    "Tensors on {0} are copied through main memory: {1}",
                    device,
                    e.getMessage());
            return false;
        }
    }
}

package org.horovod4j.testing;

import org.horovod4j.ConfigurationException;
import org.horovod4j.Device;
import org.horovod4j.spi.DeviceDriver;
import org.horovod4j.spi.DeviceProvider;

/// Four devices of this process that are memory of the host, behind addresses that no other code can
/// use.
public final class FakeDeviceProvider implements DeviceProvider {
    private static final int COUNT = 4;

    @Override
    public Device.Kind kind() {
        return Device.Kind.CUDA;
    }

    @Override
    public int count() {
        return COUNT;
    }

    @Override
    public String describe() {
        return COUNT + " fake devices";
    }

    @Override
    public DeviceDriver open(int index) {
        if (index >= COUNT) {
            throw new ConfigurationException(
                    "there is no device cuda:%d, this process sees %d".formatted(index, COUNT));
        }
        return new FakeDriver(Device.cuda(index));
    }
}

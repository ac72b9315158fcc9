package org.horovod4j.cuda;

import org.horovod4j.ConfigurationException;
import org.horovod4j.Device;
import org.horovod4j.spi.DeviceDriver;
import org.horovod4j.spi.DeviceProvider;

/// Finds the NVIDIA GPUs that this process sees.
public final class CudaDeviceProvider implements DeviceProvider {
    @Override
    public Device.Kind kind() {
        return Device.Kind.CUDA;
    }

    @Override
    public int count() {
        return Cuda.unavailableReason().isEmpty() ? Cuda.open().deviceCount() : 0;
    }

    @Override
    public String describe() {
        String reason = Cuda.unavailableReason();
        return reason.isEmpty() ? Cuda.open().describe() : reason;
    }

    @Override
    public DeviceDriver open(int index) {
        try {
            return new CudaDeviceDriver(Cuda.open().device(index));
        } catch (UnsupportedOperationException | CudaException e) {
            throw new ConfigurationException(
                    "%s cannot be used: %s".formatted(Device.cuda(index), e.getMessage()), e);
        }
    }
}

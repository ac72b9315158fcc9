package org.horovod4j.cuda;

import org.horovod4j.Device;
import org.horovod4j.HorovodException;
import org.horovod4j.spi.DeviceBackend;
import org.horovod4j.spi.DeviceBackendProvider;
import org.horovod4j.spi.DeviceContext;
import org.horovod4j.spi.DevicePlace;

import java.util.List;
import java.util.Optional;

/// Collectives of ranks of one host that read each other's device memory: ranks that share a GPU, which
/// NCCL refuses.
public final class CudaIpcProvider implements DeviceBackendProvider {
    /// What ranks exchange at a time: more than fused tensors usually have. A backend takes three times
    /// as much device memory.
    private static final long ROUND_BYTES = 16L * 1024 * 1024;

    @Override
    public String name() {
        return "CUDA_IPC";
    }

    @Override
    public Device.Kind kind() {
        return Device.Kind.CUDA;
    }

    @Override
    public int preference() {
        return 50;
    }

    @Override
    public Class<? extends DeviceBackend> backendType() {
        return CudaIpcBackend.class;
    }

    @Override
    public String describe() {
        String reason = Cuda.unavailableReason();
        return reason.isEmpty() ? "device memory shared by processes" : reason;
    }

    @Override
    public boolean isAvailable() {
        return Cuda.unavailableReason().isEmpty();
    }

    @Override
    public Optional<String> unsupportedReason(List<DevicePlace> places) {
        if (places.size() > CudaKernels.MAX_SOURCES) {
            return Optional.of(
                    "it is for at most %d ranks, not %d"
                            .formatted(CudaKernels.MAX_SOURCES, places.size()));
        }
        DevicePlace first = places.getFirst();
        return places.stream()
                .filter(place -> !place.isSameDevice(first))
                .findFirst()
                .map(
                        other ->
                                "ranks %d and %d use different GPUs"
                                        .formatted(first.jobRank(), other.jobRank()));
    }

    @Override
    public DeviceBackend create(DeviceContext context) {
        if (context.driver() instanceof CudaDeviceDriver driver) {
            return new CudaIpcBackend(driver.cuda(), context, ROUND_BYTES);
        }
        throw new HorovodException(
                "CUDA_IPC works with devices of CUDA, not with %s"
                        .formatted(context.driver().device()));
    }
}

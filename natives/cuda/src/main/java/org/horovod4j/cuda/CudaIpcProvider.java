package org.horovod4j.cuda;

import org.horovod4j.Device;
import org.horovod4j.HorovodException;
import org.horovod4j.spi.DeviceBackend;
import org.horovod4j.spi.DeviceBackendProvider;
import org.horovod4j.spi.DeviceContext;
import org.horovod4j.spi.DevicePlace;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/// Collectives of ranks of one host that read each other's device memory: ranks that share a GPU, which
/// NCCL refuses, and ranks on GPUs with peer access.
public final class CudaIpcProvider implements DeviceBackendProvider {
    /// What ranks exchange at a time, before a larger tensor comes: a bucket of gradients.
    private static final long FIRST_ROUND_BYTES = 8L * 1024 * 1024;

    /// What ranks exchange at a time then. A stage has a slot of this size for each of 16 rounds, and smaller stages
    /// stay: 384 MiB of device memory in all. Adasum takes more for larger tensors.
    private static final long MAX_ROUND_BYTES = 16L * 1024 * 1024;

    /// Longer than the second after a loss in which a survivor still accepts results (`BackendMonitor`);
    /// shorter than [#CLOSE_TIMEOUT].
    private static final Duration ABORT_TIMEOUT = Duration.ofMillis(1600);

    /// How long a backend waits for the work of the device when it is closed.
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(2);

    private static final String NAME = "CUDA_IPC";

    @Override
    public String name() {
        return NAME;
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
        for (DevicePlace one : places) {
            for (DevicePlace other : places) {
                Optional<String> reason = unsupportedReason(one, other);
                if (reason.isPresent()) {
                    return reason;
                }
            }
        }
        return Optional.empty();
    }

    private Optional<String> unsupportedReason(DevicePlace one, DevicePlace other) {
        if (!one.host().equals(other.host())) {
            return Optional.of(
                    "ranks %d and %d are on different hosts"
                            .formatted(one.jobRank(), other.jobRank()));
        }
        return process(one).canAccess(one.identity(), other.identity())
                ? Optional.empty()
                : Optional.of(
                        "ranks %d and %d use different GPUs, and rank %d cannot access the memory of that of rank %d"
                                .formatted(
                                        one.jobRank(),
                                        other.jobRank(),
                                        one.jobRank(),
                                        other.jobRank()));
    }

    /// The process of a rank.
    static IpcProcess process(DevicePlace place) {
        return IpcProcess.decode(place.processInfo(NAME));
    }

    /// The process id, and which GPUs have peer access.
    @Override
    public String processInfo() {
        return isAvailable() ? Cuda.open().ipcProcess().encode() : "";
    }

    @Override
    public DeviceBackend create(DeviceContext context) {
        if (context.driver() instanceof CudaDeviceDriver driver) {
            enablePeerAccess(driver.cuda(), context.places());
            return new CudaIpcBackend(
                    driver.cuda(),
                    context,
                    FIRST_ROUND_BYTES,
                    MAX_ROUND_BYTES,
                    ABORT_TIMEOUT,
                    CLOSE_TIMEOUT);
        }
        throw new HorovodException(
                "CUDA_IPC works with devices of CUDA, not with %s"
                        .formatted(context.driver().device()));
    }

    /// For ranks of this process, which use each other's addresses. For other processes, CUDA enables the
    /// access when it opens their memory.
    static void enablePeerAccess(CudaDevice device, List<DevicePlace> places) {
        places.stream()
                .filter(place -> process(place).isThisProcess())
                .map(place -> place.device().index())
                .filter(index -> index != device.index())
                .distinct()
                .forEach(device::enablePeerAccess);
    }
}

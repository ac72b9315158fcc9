package org.horovod4j.cuda;

import org.horovod4j.log.Log;
import org.horovod4j.natives.NativeLibrary;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/// The CUDA driver of this process and its devices.
///
/// ```java
/// String reason = Cuda.unavailableReason(); // "libcuda.so.1 cannot be opened: …"
/// CudaDevice device = Cuda.open().device(0);
/// ```
final class Cuda {
    private static final Logger LOGGER = Log.of(Cuda.class);

    /// Where the driver's library is: known to the system's linker, or in a folder that containers
    /// mount.
    private static final List<String> LIBRARIES =
            List.of(
                    "libcuda.so.1",
                    "/usr/local/nvidia/lib64/libcuda.so.1",
                    "/usr/lib/wsl/lib/libcuda.so.1",
                    "nvcuda.dll");

    /// The least compute capability that the kernels are compiled for.
    private static final int LEAST_CAPABILITY = 70;

    /// The driver of this process, opened once.
    private static final class Holder {
        static final @Nullable Cuda INSTANCE;

        /// Why there is none.
        static final String REASON;

        static {
            Cuda cuda = null;
            String reason = "";
            try {
                cuda = new Cuda(new LibCuda(library()));
            } catch (UnsupportedOperationException e) {
                reason = String.valueOf(e.getMessage());
            } catch (CudaException e) {
                reason = "the CUDA driver does not start: " + e.getMessage();
            }
            INSTANCE = cuda;
            REASON = reason;
        }
    }

    private final CudaApi api;
    private final CudaDevice[] devices;

    Cuda(CudaApi api) {
        this.api = api;
        this.devices = new CudaDevice[api.deviceCount()];
    }

    /// Opens the driver's library, or returns the one that is open.
    ///
    /// @throws UnsupportedOperationException when CUDA cannot be used, with the reason
    static Cuda open() {
        Cuda cuda = Holder.INSTANCE;
        if (cuda == null) {
            throw new UnsupportedOperationException(Holder.REASON);
        }
        return cuda;
    }

    /// Why CUDA cannot be used; empty if it can.
    static String unavailableReason() {
        Cuda cuda = Holder.INSTANCE;
        if (cuda == null) {
            return Holder.REASON;
        }
        return cuda.deviceCount() == 0 ? "the CUDA driver finds no device" : "";
    }

    private static NativeLibrary library() {
        if (!NativeLibrary.isEnabled()) {
            throw new UnsupportedOperationException(
                    "the JVM was started without --enable-native-access=ALL-UNNAMED");
        }
        for (String name : LIBRARIES) {
            try {
                return NativeLibrary.open(name);
            } catch (UnsupportedOperationException e) {
                LOGGER.log(Level.DEBUG, e.getMessage());
            }
        }
        throw new UnsupportedOperationException(
                "%s cannot be opened: this host has no NVIDIA driver, or the container does not see it"
                        .formatted(LIBRARIES.getFirst()));
    }

    /// The devices and the newest CUDA version that the driver supports: `CUDA 13.0, NVIDIA H200`.
    String describe() {
        int version = api.version();
        String devices =
                IntStream.range(0, deviceCount())
                        .mapToObj(api::deviceName)
                        .collect(
                                Collectors.groupingBy(
                                        name -> name, TreeMap::new, Collectors.counting()))
                        .entrySet()
                        .stream()
                        .map(
                                each ->
                                        each.getValue() == 1
                                                ? each.getKey()
                                                : each.getValue() + " x " + each.getKey())
                        .collect(Collectors.joining(", "));
        return "CUDA %d.%d, %s".formatted(version / 1000, version % 1000 / 10, devices);
    }

    /// What this process publishes for CUDA_IPC.
    IpcProcess ipcProcess() {
        return IpcProcess.of(api);
    }

    int deviceCount() {
        return devices.length;
    }

    /// Device `index` of those that this process sees. The first call of a process takes some tenths
    /// of a second and some hundred MiB of device memory, unless a framework has used the device.
    ///
    /// @throws UnsupportedOperationException when there is no such device, or it is too old
    synchronized CudaDevice device(int index) {
        if (index < 0 || index >= devices.length) {
            throw new UnsupportedOperationException(
                    "there is no CUDA device %d: this process sees %d"
                            .formatted(index, devices.length));
        }
        int capability =
                10 * api.deviceAttribute(CudaApi.COMPUTE_CAPABILITY_MAJOR, index)
                        + api.deviceAttribute(CudaApi.COMPUTE_CAPABILITY_MINOR, index);
        if (capability < LEAST_CAPABILITY) {
            throw new UnsupportedOperationException(
                    "CUDA device %d (%s) has compute capability %d.%d; at least %d.%d is needed"
                            .formatted(
                                    index,
                                    api.deviceName(index),
                                    capability / 10,
                                    capability % 10,
                                    LEAST_CAPABILITY / 10,
                                    LEAST_CAPABILITY % 10));
        }
        if (devices[index] == null) {
            devices[index] = new CudaDevice(api, index);
        }
        return devices[index];
    }
}

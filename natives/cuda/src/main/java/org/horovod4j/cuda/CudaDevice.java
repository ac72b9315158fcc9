package org.horovod4j.cuda;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/// A GPU of this process: its context and kernels, which all ranks of the process share.
///
/// It uses the device's primary context, as the CUDA runtime and so all frameworks do: memory, streams
/// and events of a framework in this process can be passed as addresses. All methods may be called
/// from any thread.
final class CudaDevice {
    private static final int ALLOCATION_RETRIES = 200;
    private static final Duration RETRY_WAIT = Duration.ofMillis(10);

    private final CudaApi api;
    private final int index;
    private final String name;
    private final String uuid;
    private final int multiprocessors;
    private final long context;
    private final CudaKernels kernels;

    CudaDevice(CudaApi api, int index) {
        this.api = api;
        this.index = index;
        this.name = api.deviceName(index);
        this.uuid = IpcProcess.identity(api, index);
        this.multiprocessors = api.deviceAttribute(CudaApi.MULTIPROCESSOR_COUNT, index);
        this.context = api.retainContext(index);
        this.kernels = new CudaKernels(this);
    }

    /// Its number among the devices that this process sees.
    int index() {
        return index;
    }

    /// The name of the model: `NVIDIA H200`.
    String name() {
        return name;
    }

    /// Identifies the GPU: the same in all processes of a host, whatever number they give it.
    String uuid() {
        return uuid;
    }

    int multiprocessors() {
        return multiprocessors;
    }

    /// The kernels of Horovod4J on this device.
    CudaKernels kernels() {
        return kernels;
    }

    /// The functions of the driver, with the context of this device in the calling thread.
    CudaApi api() {
        api.setCurrent(context);
        return api;
    }

    /// Lets kernels use the memory of another GPU of this process.
    void enablePeerAccess(int peer) {
        api().enablePeerAccess(api.retainContext(peer));
    }

    /// Allocates device memory. If there is none left, it lets the garbage collector free what tensors
    /// that are no longer reachable still hold, and tries again for a short time.
    ///
    /// The driver waits for all work of the device when memory is freed. So what is used often is
    /// better kept.
    ///
    /// @throws CudaException if there is not as much
    long allocate(long byteSize) {
        for (int tries = 1; ; tries++) {
            try {
                return api().allocate(byteSize);
            } catch (CudaException e) {
                if (e.code() != CudaApi.OUT_OF_MEMORY
                        || tries > ALLOCATION_RETRIES
                        || Thread.currentThread().isInterrupted()) {
                    throw e;
                }
            }
            if (tries == 1) {
                System.gc();
            }
            // another thread frees what the collector has found
            LockSupport.parkNanos(RETRY_WAIT.toNanos());
        }
    }

    @Override
    public String toString() {
        return "cuda:%d (%s)".formatted(index, name);
    }
}

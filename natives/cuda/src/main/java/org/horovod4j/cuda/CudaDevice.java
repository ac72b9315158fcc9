package org.horovod4j.cuda;

import java.util.HexFormat;

/// A GPU of this process: its context and kernels, which all ranks of the process share.
///
/// It uses the device's primary context, as the CUDA runtime and so all frameworks do: memory, streams
/// and events of a framework in this process can be passed as addresses. All methods may be called
/// from any thread.
final class CudaDevice {
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
        this.uuid = HexFormat.of().formatHex(api.deviceUuid(index));
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

    @Override
    public String toString() {
        return "cuda:%d (%s)".formatted(index, name);
    }
}

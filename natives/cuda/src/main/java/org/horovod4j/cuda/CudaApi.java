package org.horovod4j.cuda;

import java.lang.foreign.MemorySegment;

/// The functions of the CUDA driver API that Horovod4J uses, one method each. [LibCuda] calls the library;
/// tests replace it.
///
/// Contexts, streams, events, modules and functions are handles of the driver. Addresses are those of
/// device memory or of pinned host memory. A method that works on memory, streams or events needs a
/// current context ([#setCurrent]). All methods throw [CudaException] with the words of CUDA.
interface CudaApi {
    /// Device attributes, as numbered by CUDA.
    int MULTIPROCESSOR_COUNT = 16;

    int COMPUTE_CAPABILITY_MAJOR = 75;
    int COMPUTE_CAPABILITY_MINOR = 76;

    /// The error code of an allocation for which the device has no memory left.
    int OUT_OF_MEMORY = 2;

    /// A flag of events.
    int EVENT_NO_TIMING = 2;

    /// The size of a handle of memory for other processes.
    int IPC_HANDLE_BYTES = 64;

    /// The newest CUDA version that the driver supports: 13000 for 13.0.
    int version();

    int deviceCount();

    String deviceName(int device);

    /// Identifies a GPU, also where processes number devices differently.
    byte[] deviceUuid(int device);

    int deviceAttribute(int attribute, int device);

    /// The context that all libraries of this process share on the device.
    long retainContext(int device);

    /// Whether kernels of `device` can use the memory of `peer`, by NVLink or PCI Express.
    boolean canAccessPeer(int device, int peer);

    /// Lets the current context use the memory of another one. It may do so already.
    void enablePeerAccess(long peerContext);

    /// Makes a context current in the calling thread.
    void setCurrent(long context);

    long allocate(long byteSize);

    /// Frees memory, after all work of the device.
    void free(long address);

    /// Makes existing main memory accessible for the device.
    void registerHost(long address, long byteSize);

    void unregisterHost(long address);

    /// Copies between device and pinned memory in any direction.
    void copy(long target, long source, long byteSize, long stream);

    void fill(long target, byte value, long byteSize, long stream);

    /// The lowest and the highest priority of streams; lower numbers come first.
    int[] priorityRange();

    /// Creates a stream that does not wait for the default stream.
    ///
    /// @param priority 0 is the default, negative numbers are preferred
    long createStream(int priority);

    /// Does not wait: what was launched runs to its end.
    void destroyStream(long stream);

    void synchronizeStream(long stream);

    /// Lets `stream` wait until the last record of `event` is reached.
    void waitForEvent(long stream, long event);

    /// Lets `stream` write a number to device memory, after its work so far.
    void writeValue(long stream, long address, int value);

    /// Lets `stream` wait until another stream, maybe of another process, has written `value` or one of
    /// the 2³¹ - 1 numbers after it to device memory.
    void waitForValue(long stream, long address, int value);

    long createEvent(int flags);

    void destroyEvent(long event);

    void recordEvent(long event, long stream);

    boolean isEventDone(long event);

    /// A handle with which another process opens an allocation of this one.
    byte[] memoryHandle(long address);

    long openMemory(byte[] handle);

    void closeMemory(long address);

    /// Compiles kernels.
    ///
    /// @param ptx ends with a zero byte
    long loadModule(MemorySegment ptx);

    long function(long module, String name);

    /// Launches a kernel.
    ///
    /// @param parameters the address of each parameter
    void launch(long function, int blocks, int threads, long stream, MemorySegment parameters);
}

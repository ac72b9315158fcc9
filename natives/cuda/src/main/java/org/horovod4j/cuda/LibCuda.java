package org.horovod4j.cuda;

import static org.horovod4j.natives.NativeLibrary.call;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import org.horovod4j.natives.NativeLibrary;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/// The functions of the CUDA driver, `libcuda`, which comes with the driver of the GPU. The CUDA
/// toolkit is not needed.
@SuppressWarnings("restricted") // native calls are the purpose of this file
final class LibCuda implements CudaApi {
    private static final int SUCCESS = 0;
    private static final int NOT_READY = 600;
    private static final int PEER_ACCESS_ALREADY_ENABLED = 704;

    private static final int STREAM_NON_BLOCKING = 1;
    private static final int HOST_REGISTER_PORTABLE = 1;
    private static final int IPC_LAZY_PEER_ACCESS = 1;
    private static final int WRITE_AFTER_OTHER_WRITES = 0;
    private static final int WAIT_FOR_VALUE_OR_LATER = 0;
    private static final int NAME_BYTES = 256;
    private static final int UUID_BYTES = 16;
    private static final int MAX_MESSAGE = 4096;

    /// A handle for other processes, which functions take by value.
    private static final MemoryLayout IPC_HANDLE =
            MemoryLayout.structLayout(MemoryLayout.sequenceLayout(IPC_HANDLE_BYTES, JAVA_BYTE));

    private final NativeLibrary library;
    private final MethodHandle errorName;
    private final MethodHandle errorString;
    private final MethodHandle driverGetVersion;
    private final MethodHandle deviceGetCount;
    private final MethodHandle deviceGet;
    private final MethodHandle deviceGetName;
    private final MethodHandle deviceGetUuid;
    private final MethodHandle deviceGetAttribute;
    private final MethodHandle contextRetain;
    private final MethodHandle contextSetCurrent;
    private final MethodHandle canAccessPeer;
    private final MethodHandle enablePeerAccess;
    private final MethodHandle memoryAllocate;
    private final MethodHandle memoryFree;
    private final MethodHandle hostRegister;
    private final MethodHandle hostUnregister;
    private final MethodHandle memoryCopy;
    private final MethodHandle memorySet;
    private final MethodHandle streamPriorityRange;
    private final MethodHandle streamCreate;
    private final MethodHandle streamDestroy;
    private final MethodHandle streamSynchronize;
    private final MethodHandle streamWaitEvent;
    private final MethodHandle streamWriteValue;
    private final MethodHandle streamWaitValue;
    private final MethodHandle eventCreate;
    private final MethodHandle eventDestroy;
    private final MethodHandle eventRecord;
    private final MethodHandle eventQuery;
    private final MethodHandle ipcGetMemory;
    private final MethodHandle ipcOpenMemory;
    private final MethodHandle ipcCloseMemory;
    private final MethodHandle moduleLoad;
    private final MethodHandle moduleFunction;
    private final MethodHandle launchKernel;

    /// Links the functions and initializes the driver.
    ///
    /// @throws UnsupportedOperationException when the library misses a function: the driver is too old
    /// @throws CudaException when the driver cannot be initialized: there is no GPU, for example
    LibCuda(NativeLibrary library) {
        this.library = library;
        errorName = link("cuGetErrorName", JAVA_INT, ADDRESS);
        errorString = link("cuGetErrorString", JAVA_INT, ADDRESS);
        driverGetVersion = link("cuDriverGetVersion", ADDRESS);
        deviceGetCount = link("cuDeviceGetCount", ADDRESS);
        deviceGet = link("cuDeviceGet", ADDRESS, JAVA_INT);
        deviceGetName = link("cuDeviceGetName", ADDRESS, JAVA_INT, JAVA_INT);
        deviceGetUuid = link("cuDeviceGetUuid", ADDRESS, JAVA_INT);
        deviceGetAttribute = link("cuDeviceGetAttribute", ADDRESS, JAVA_INT, JAVA_INT);
        contextRetain = link("cuDevicePrimaryCtxRetain", ADDRESS, JAVA_INT);
        contextSetCurrent = link("cuCtxSetCurrent", JAVA_LONG);
        canAccessPeer = link("cuDeviceCanAccessPeer", ADDRESS, JAVA_INT, JAVA_INT);
        enablePeerAccess = link("cuCtxEnablePeerAccess", JAVA_LONG, JAVA_INT);
        memoryAllocate = link("cuMemAlloc_v2", ADDRESS, JAVA_LONG);
        memoryFree = link("cuMemFree_v2", JAVA_LONG);
        hostRegister = link("cuMemHostRegister_v2", JAVA_LONG, JAVA_LONG, JAVA_INT);
        hostUnregister = link("cuMemHostUnregister", JAVA_LONG);
        memoryCopy = link("cuMemcpyAsync", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
        memorySet = link("cuMemsetD8Async", JAVA_LONG, JAVA_BYTE, JAVA_LONG, JAVA_LONG);
        streamPriorityRange = link("cuCtxGetStreamPriorityRange", ADDRESS, ADDRESS);
        streamCreate = link("cuStreamCreateWithPriority", ADDRESS, JAVA_INT, JAVA_INT);
        streamDestroy = link("cuStreamDestroy_v2", JAVA_LONG);
        streamSynchronize = link("cuStreamSynchronize", JAVA_LONG);
        streamWaitEvent = link("cuStreamWaitEvent", JAVA_LONG, JAVA_LONG, JAVA_INT);
        streamWriteValue =
                link("cuStreamWriteValue32_v2", JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT);
        streamWaitValue = link("cuStreamWaitValue32_v2", JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT);
        eventCreate = link("cuEventCreate", ADDRESS, JAVA_INT);
        eventDestroy = link("cuEventDestroy_v2", JAVA_LONG);
        eventRecord = link("cuEventRecord", JAVA_LONG, JAVA_LONG);
        eventQuery = link("cuEventQuery", JAVA_LONG);
        ipcGetMemory = link("cuIpcGetMemHandle", ADDRESS, JAVA_LONG);
        ipcOpenMemory = link("cuIpcOpenMemHandle_v2", ADDRESS, IPC_HANDLE, JAVA_INT);
        ipcCloseMemory = link("cuIpcCloseMemHandle", JAVA_LONG);
        moduleLoad = link("cuModuleLoadData", ADDRESS, ADDRESS);
        moduleFunction = link("cuModuleGetFunction", ADDRESS, JAVA_LONG, ADDRESS);
        launchKernel =
                link(
                        "cuLaunchKernel",
                        JAVA_LONG,
                        JAVA_INT,
                        JAVA_INT,
                        JAVA_INT,
                        JAVA_INT,
                        JAVA_INT,
                        JAVA_INT,
                        JAVA_INT,
                        JAVA_LONG,
                        ADDRESS,
                        ADDRESS);
        MethodHandle init = link("cuInit", JAVA_INT);
        check("cuInit", call("cuInit", () -> (int) init.invokeExact(0)));
    }

    /// A function that returns an error code.
    private MethodHandle link(String name, MemoryLayout... parameters) {
        return library.function(name, FunctionDescriptor.of(JAVA_INT, parameters));
    }

    /// The one place where results of the driver are checked.
    private void check(String function, int result) {
        if (result != SUCCESS) {
            throw new CudaException(result, "%s failed: %s".formatted(function, describe(result)));
        }
    }

    private String describe(int result) {
        return "%s (%s)".formatted(text(errorName, result), text(errorString, result));
    }

    private static String text(MethodHandle function, int result) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment pointer = arena.allocate(ADDRESS);
            int known = call("cuGetErrorString", () -> (int) function.invokeExact(result, pointer));
            return known == SUCCESS
                    ? pointer.get(ADDRESS, 0).reinterpret(MAX_MESSAGE).getString(0)
                    : "error " + result;
        }
    }

    /// Calls a function that writes a `long` or a handle.
    private long getLong(String name, OutCall function) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment out = arena.allocate(JAVA_LONG);
            check(name, call(name, () -> function.run(out)));
            return out.get(JAVA_LONG, 0);
        }
    }

    /// Calls a function that writes an `int`.
    private int getInt(String name, OutCall function) {
        return (int) getLong(name, function);
    }

    /// Calls a function that writes bytes.
    private byte[] getBytes(String name, int count, OutCall function) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment out = arena.allocate(count);
            check(name, call(name, () -> function.run(out)));
            return out.toArray(JAVA_BYTE);
        }
    }

    private interface OutCall {
        int run(MemorySegment out) throws Throwable;
    }

    @Override
    public int version() {
        return getInt("cuDriverGetVersion", out -> (int) driverGetVersion.invokeExact(out));
    }

    @Override
    public int deviceCount() {
        return getInt("cuDeviceGetCount", out -> (int) deviceGetCount.invokeExact(out));
    }

    private int device(int index) {
        return getInt("cuDeviceGet", out -> (int) deviceGet.invokeExact(out, index));
    }

    @Override
    public String deviceName(int device) {
        int handle = device(device);
        byte[] name =
                getBytes(
                        "cuDeviceGetName",
                        NAME_BYTES,
                        out -> (int) deviceGetName.invokeExact(out, NAME_BYTES, handle));
        return MemorySegment.ofArray(name).getString(0);
    }

    @Override
    public byte[] deviceUuid(int device) {
        int handle = device(device);
        return getBytes(
                "cuDeviceGetUuid", UUID_BYTES, out -> (int) deviceGetUuid.invokeExact(out, handle));
    }

    @Override
    public int deviceAttribute(int attribute, int device) {
        int handle = device(device);
        return getInt(
                "cuDeviceGetAttribute",
                out -> (int) deviceGetAttribute.invokeExact(out, attribute, handle));
    }

    @Override
    public long retainContext(int device) {
        int handle = device(device);
        return getLong(
                "cuDevicePrimaryCtxRetain", out -> (int) contextRetain.invokeExact(out, handle));
    }

    @Override
    public boolean canAccessPeer(int device, int peer) {
        int handle = device(device);
        int peerHandle = device(peer);
        return getInt(
                        "cuDeviceCanAccessPeer",
                        out -> (int) canAccessPeer.invokeExact(out, handle, peerHandle))
                != 0;
    }

    @Override
    public void enablePeerAccess(long peerContext) {
        int result =
                call(
                        "cuCtxEnablePeerAccess",
                        () -> (int) enablePeerAccess.invokeExact(peerContext, 0));
        if (result != PEER_ACCESS_ALREADY_ENABLED) {
            check("cuCtxEnablePeerAccess", result);
        }
    }

    @Override
    public void setCurrent(long context) {
        check(
                "cuCtxSetCurrent",
                call("cuCtxSetCurrent", () -> (int) contextSetCurrent.invokeExact(context)));
    }

    @Override
    public long allocate(long byteSize) {
        return getLong(
                "cuMemAlloc of %d bytes".formatted(byteSize),
                out -> (int) memoryAllocate.invokeExact(out, byteSize));
    }

    @Override
    public void free(long address) {
        check("cuMemFree", call("cuMemFree", () -> (int) memoryFree.invokeExact(address)));
    }

    @Override
    public void registerHost(long address, long byteSize) {
        check(
                "cuMemHostRegister",
                call(
                        "cuMemHostRegister",
                        () ->
                                (int)
                                        hostRegister.invokeExact(
                                                address, byteSize, HOST_REGISTER_PORTABLE)));
    }

    @Override
    public void unregisterHost(long address) {
        check(
                "cuMemHostUnregister",
                call("cuMemHostUnregister", () -> (int) hostUnregister.invokeExact(address)));
    }

    @Override
    public void copy(long target, long source, long byteSize, long stream) {
        check(
                "cuMemcpyAsync",
                call(
                        "cuMemcpyAsync",
                        () -> (int) memoryCopy.invokeExact(target, source, byteSize, stream)));
    }

    @Override
    public void fill(long target, byte value, long byteSize, long stream) {
        check(
                "cuMemsetD8Async",
                call(
                        "cuMemsetD8Async",
                        () -> (int) memorySet.invokeExact(target, value, byteSize, stream)));
    }

    @Override
    public int[] priorityRange() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment least = arena.allocate(JAVA_INT);
            MemorySegment greatest = arena.allocate(JAVA_INT);
            check(
                    "cuCtxGetStreamPriorityRange",
                    call(
                            "cuCtxGetStreamPriorityRange",
                            () -> (int) streamPriorityRange.invokeExact(least, greatest)));
            return new int[] {least.get(JAVA_INT, 0), greatest.get(JAVA_INT, 0)};
        }
    }

    @Override
    public long createStream(int priority) {
        return getLong(
                "cuStreamCreateWithPriority",
                out -> (int) streamCreate.invokeExact(out, STREAM_NON_BLOCKING, priority));
    }

    @Override
    public void destroyStream(long stream) {
        check(
                "cuStreamDestroy",
                call("cuStreamDestroy", () -> (int) streamDestroy.invokeExact(stream)));
    }

    @Override
    public void synchronizeStream(long stream) {
        check(
                "cuStreamSynchronize",
                call("cuStreamSynchronize", () -> (int) streamSynchronize.invokeExact(stream)));
    }

    @Override
    public void waitForEvent(long stream, long event) {
        check(
                "cuStreamWaitEvent",
                call(
                        "cuStreamWaitEvent",
                        () -> (int) streamWaitEvent.invokeExact(stream, event, 0)));
    }

    @Override
    public void writeValue(long stream, long address, int value) {
        check(
                "cuStreamWriteValue32",
                call(
                        "cuStreamWriteValue32",
                        () ->
                                (int)
                                        streamWriteValue.invokeExact(
                                                stream, address, value, WRITE_AFTER_OTHER_WRITES)));
    }

    @Override
    public void waitForValue(long stream, long address, int value) {
        check(
                "cuStreamWaitValue32",
                call(
                        "cuStreamWaitValue32",
                        () ->
                                (int)
                                        streamWaitValue.invokeExact(
                                                stream, address, value, WAIT_FOR_VALUE_OR_LATER)));
    }

    @Override
    public long createEvent(int flags) {
        return getLong("cuEventCreate", out -> (int) eventCreate.invokeExact(out, flags));
    }

    @Override
    public void destroyEvent(long event) {
        check(
                "cuEventDestroy",
                call("cuEventDestroy", () -> (int) eventDestroy.invokeExact(event)));
    }

    @Override
    public void recordEvent(long event, long stream) {
        check(
                "cuEventRecord",
                call("cuEventRecord", () -> (int) eventRecord.invokeExact(event, stream)));
    }

    @Override
    public boolean isEventDone(long event) {
        return isDone(
                "cuEventQuery", call("cuEventQuery", () -> (int) eventQuery.invokeExact(event)));
    }

    private boolean isDone(String function, int result) {
        if (result == NOT_READY) {
            return false;
        }
        check(function, result);
        return true;
    }

    @Override
    public byte[] memoryHandle(long address) {
        return getBytes(
                "cuIpcGetMemHandle",
                IPC_HANDLE_BYTES,
                out -> (int) ipcGetMemory.invokeExact(out, address));
    }

    @Override
    public long openMemory(byte[] handle) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment struct = arena.allocateFrom(JAVA_BYTE, handle);
            return getLong(
                    "cuIpcOpenMemHandle",
                    out -> (int) ipcOpenMemory.invokeExact(out, struct, IPC_LAZY_PEER_ACCESS));
        }
    }

    @Override
    public void closeMemory(long address) {
        check(
                "cuIpcCloseMemHandle",
                call("cuIpcCloseMemHandle", () -> (int) ipcCloseMemory.invokeExact(address)));
    }

    @Override
    public long loadModule(MemorySegment ptx) {
        return getLong("cuModuleLoadData", out -> (int) moduleLoad.invokeExact(out, ptx));
    }

    @Override
    public long function(long module, String name) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocateFrom(name);
            return getLong(
                    "cuModuleGetFunction of " + name,
                    out -> (int) moduleFunction.invokeExact(out, module, text));
        }
    }

    @Override
    public void launch(
            long function, int blocks, int threads, long stream, MemorySegment parameters) {
        check(
                "cuLaunchKernel",
                call(
                        "cuLaunchKernel",
                        () ->
                                (int)
                                        launchKernel.invokeExact(
                                                function,
                                                blocks,
                                                1,
                                                1,
                                                threads,
                                                1,
                                                1,
                                                0,
                                                stream,
                                                parameters,
                                                MemorySegment.NULL)));
    }
}

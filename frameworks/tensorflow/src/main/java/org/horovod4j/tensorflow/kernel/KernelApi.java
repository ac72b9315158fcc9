package org.horovod4j.tensorflow.kernel;

import static org.horovod4j.natives.NativeLibrary.call;
import static org.horovod4j.natives.NativeLibrary.execute;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.DataType;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/// The functions of the C API with which a kernel reads its attributes and inputs and writes its
/// outputs.
@SuppressWarnings("restricted") // native calls are the purpose of this file
final class KernelApi {
    private final LibTensorFlow library;
    private final MethodHandle attributeSize;
    private final MethodHandle attributeString;
    private final MethodHandle attributeLong;
    private final MethodHandle constructionFailure;
    private final MethodHandle contextFailure;
    private final MethodHandle inputCount;
    private final MethodHandle getInput;
    private final MethodHandle forwardOrAllocate;
    private final MethodHandle allocateOutput;
    private final MethodHandle tensorType;
    private final MethodHandle dimensionCount;
    private final MethodHandle dimension;
    private final MethodHandle byteSize;
    private final MethodHandle data;
    private final MethodHandle deleteTensor;

    /// @throws UnsupportedOperationException when the library lacks a function
    KernelApi(LibTensorFlow library) {
        this.library = library;
        attributeSize =
                library.function(
                        "TF_OpKernelConstruction_GetAttrSize",
                        FunctionDescriptor.ofVoid(ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS));
        attributeString =
                library.function(
                        "TF_OpKernelConstruction_GetAttrString",
                        FunctionDescriptor.ofVoid(ADDRESS, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS));
        attributeLong =
                library.function(
                        "TF_OpKernelConstruction_GetAttrInt64",
                        FunctionDescriptor.ofVoid(ADDRESS, ADDRESS, ADDRESS, ADDRESS));
        constructionFailure =
                library.function(
                        "TF_OpKernelConstruction_Failure",
                        FunctionDescriptor.ofVoid(ADDRESS, ADDRESS));
        contextFailure =
                library.function(
                        "TF_OpKernelContext_Failure", FunctionDescriptor.ofVoid(ADDRESS, ADDRESS));
        inputCount = library.function("TF_NumInputs", FunctionDescriptor.of(JAVA_INT, ADDRESS));
        getInput =
                library.function(
                        "TF_GetInput",
                        FunctionDescriptor.ofVoid(ADDRESS, JAVA_INT, ADDRESS, ADDRESS));
        forwardOrAllocate =
                library.function(
                        "TF_ForwardInputOrAllocateOutput",
                        FunctionDescriptor.of(
                                ADDRESS, ADDRESS, ADDRESS, JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT,
                                ADDRESS, ADDRESS));
        allocateOutput =
                library.function(
                        "TF_AllocateOutput",
                        FunctionDescriptor.of(
                                ADDRESS, ADDRESS, JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT, JAVA_LONG,
                                ADDRESS));
        tensorType = library.function("TF_TensorType", FunctionDescriptor.of(JAVA_INT, ADDRESS));
        dimensionCount = library.function("TF_NumDims", FunctionDescriptor.of(JAVA_INT, ADDRESS));
        dimension = library.function("TF_Dim", FunctionDescriptor.of(JAVA_LONG, ADDRESS, JAVA_INT));
        byteSize = library.function("TF_TensorByteSize", FunctionDescriptor.of(JAVA_LONG, ADDRESS));
        data = library.function("TF_TensorData", FunctionDescriptor.of(ADDRESS, ADDRESS));
        deleteTensor = library.function("TF_DeleteTensor", FunctionDescriptor.ofVoid(ADDRESS));
    }

    /// A tensor of TensorFlow. The caller of the method that returns it deletes it.
    ///
    /// @param address of the `TF_Tensor`
    /// @param tensor its memory
    record NativeTensor(MemorySegment address, Tensor tensor) {}

    /// An output, and whether its memory is that of an input.
    record Output(NativeTensor tensor, boolean isForwarded) {}

    /// The value of an attribute of the node.
    String stringAttribute(MemorySegment construction, String name) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment nameBytes = arena.allocateFrom(name, UTF_8);
            MemorySegment listSize = arena.allocate(JAVA_INT);
            MemorySegment size = arena.allocate(JAVA_INT);
            library.check(
                    "TF_OpKernelConstruction_GetAttrSize",
                    status -> {
                        attributeSize.invokeExact(construction, nameBytes, listSize, size, status);
                        return true;
                    });
            int length = size.get(JAVA_INT, 0);
            MemorySegment bytes = arena.allocate(Math.max(1, length));
            library.check(
                    "TF_OpKernelConstruction_GetAttrString",
                    status -> {
                        attributeString.invokeExact(
                                construction, nameBytes, bytes, (long) length, status);
                        return true;
                    });
            return new String(bytes.asSlice(0, length).toArray(JAVA_BYTE), UTF_8);
        }
    }

    /// The value of an attribute of the node.
    long longAttribute(MemorySegment construction, String name) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment nameBytes = arena.allocateFrom(name, UTF_8);
            MemorySegment value = arena.allocate(JAVA_LONG);
            return library.check(
                    "TF_OpKernelConstruction_GetAttrInt64",
                    status -> {
                        attributeLong.invokeExact(construction, nameBytes, value, status);
                        return value.get(JAVA_LONG, 0);
                    });
        }
    }

    /// Lets the creation of a kernel fail.
    void failConstruction(MemorySegment construction, String message) {
        fail(constructionFailure, construction, message);
    }

    /// Lets the run of a node fail.
    void failRun(MemorySegment context, String message) {
        fail(contextFailure, context, message);
    }

    private void fail(MethodHandle function, MemorySegment target, String message) {
        library.withFailure(
                message,
                status -> {
                    function.invokeExact(target, status);
                    return true;
                });
    }

    int inputCount(MemorySegment context) {
        return call("TF_NumInputs", () -> (int) inputCount.invokeExact(context));
    }

    NativeTensor input(MemorySegment context, int index) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment address = arena.allocate(ADDRESS);
            return owned(
                    library.check(
                            "TF_GetInput",
                            status -> {
                                getInput.invokeExact(context, index, address, status);
                                return address.get(ADDRESS, 0);
                            }));
        }
    }

    /// Output `index` with the shape of input `index`, and its memory if nothing else uses it. The
    /// input must not be held.
    Output outputLike(MemorySegment context, int index, Shape shape) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment candidates = arena.allocateFrom(JAVA_INT, index);
            MemorySegment dimensions = dimensions(arena, shape);
            MemorySegment forwarded = arena.allocate(JAVA_INT);
            MemorySegment output =
                    library.check(
                            "TF_ForwardInputOrAllocateOutput",
                            status ->
                                    (MemorySegment)
                                            forwardOrAllocate.invokeExact(
                                                    context,
                                                    candidates,
                                                    1,
                                                    index,
                                                    dimensions,
                                                    shape.rank(),
                                                    forwarded,
                                                    status));
            return new Output(owned(output), forwarded.get(JAVA_INT, 0) == index);
        }
    }

    NativeTensor output(MemorySegment context, int index, DataType dataType, Shape shape) {
        long bytes = Math.multiplyExact(shape.elementCount(), (long) dataType.byteSize());
        int type = TensorTypes.toTensorFlow(dataType).getNumber();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment dimensions = dimensions(arena, shape);
            return owned(
                    library.check(
                            "TF_AllocateOutput",
                            status ->
                                    (MemorySegment)
                                            allocateOutput.invokeExact(
                                                    context,
                                                    index,
                                                    type,
                                                    dimensions,
                                                    shape.rank(),
                                                    bytes,
                                                    status)));
        }
    }

    private static MemorySegment dimensions(Arena arena, Shape shape) {
        MemorySegment dimensions = arena.allocate(JAVA_LONG, Math.max(1, shape.rank()));
        for (int i = 0; i < shape.rank(); i++) {
            dimensions.setAtIndex(JAVA_LONG, i, shape.dimension(i));
        }
        return dimensions;
    }

    void delete(NativeTensor tensor) {
        delete(tensor.address);
    }

    private void delete(MemorySegment tensor) {
        execute(
                "TF_DeleteTensor",
                () -> {
                    deleteTensor.invokeExact(tensor);
                });
    }

    /// Deletes the tensor if collectives do not support it.
    private NativeTensor owned(MemorySegment tensor) {
        try {
            return view(tensor);
        } catch (RuntimeException | Error e) {
            delete(tensor);
            throw e;
        }
    }

    private NativeTensor view(MemorySegment tensor) {
        DataType type =
                TensorTypes.ofNumber(
                        call("TF_TensorType", () -> (int) tensorType.invokeExact(tensor)));
        long[] dimensions =
                new long[call("TF_NumDims", () -> (int) dimensionCount.invokeExact(tensor))];
        for (int i = 0; i < dimensions.length; i++) {
            int index = i;
            dimensions[i] = call("TF_Dim", () -> (long) dimension.invokeExact(tensor, index));
        }
        long size = call("TF_TensorByteSize", () -> (long) byteSize.invokeExact(tensor));
        MemorySegment memory =
                call("TF_TensorData", () -> (MemorySegment) data.invokeExact(tensor))
                        .reinterpret(size);
        Shape shape = dimensions.length == 0 ? Shape.SCALAR : Shape.of(dimensions);
        return new NativeTensor(tensor, Tensor.of(memory, type, shape));
    }
}

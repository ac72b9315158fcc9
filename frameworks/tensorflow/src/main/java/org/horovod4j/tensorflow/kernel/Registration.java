package org.horovod4j.tensorflow.kernel;

import static org.horovod4j.tensorflow.kernel.LibTensorFlow.run;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BOOLEAN;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.List;

/// Registers types of ops and their kernels in TensorFlow. Both stay until the process ends.
final class Registration {
    private static final String DEVICE = "CPU";

    private final LibTensorFlow library;
    private final ShapeFunctions shapeFunctions;
    private final MethodHandle newBuilder;
    private final MethodHandle addAttribute;
    private final MethodHandle addInput;
    private final MethodHandle addOutput;
    private final MethodHandle setStateful;
    private final MethodHandle setShapeFunction;
    private final MethodHandle registerOp;
    private final MethodHandle newAsyncKernel;
    private final MethodHandle registerKernel;

    /// @throws UnsupportedOperationException when the library lacks a function
    Registration(LibTensorFlow library) {
        this.library = library;
        this.shapeFunctions = new ShapeFunctions(library);
        FunctionDescriptor twoAddresses = FunctionDescriptor.ofVoid(ADDRESS, ADDRESS);
        newBuilder =
                library.function(
                        "TF_NewOpDefinitionBuilder", FunctionDescriptor.of(ADDRESS, ADDRESS));
        addAttribute = library.function("TF_OpDefinitionBuilderAddAttr", twoAddresses);
        addInput = library.function("TF_OpDefinitionBuilderAddInput", twoAddresses);
        addOutput = library.function("TF_OpDefinitionBuilderAddOutput", twoAddresses);
        setStateful =
                library.function(
                        "TF_OpDefinitionBuilderSetIsStateful",
                        FunctionDescriptor.ofVoid(ADDRESS, JAVA_BOOLEAN));
        setShapeFunction =
                library.function("TF_OpDefinitionBuilderSetShapeInferenceFunction", twoAddresses);
        registerOp = library.function("TF_RegisterOpDefinition", twoAddresses);
        newAsyncKernel =
                library.function(
                        "TF_NewAsyncKernelBuilder",
                        FunctionDescriptor.of(
                                ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS));
        registerKernel =
                library.function(
                        "TF_RegisterKernelBuilder",
                        FunctionDescriptor.ofVoid(ADDRESS, ADDRESS, ADDRESS));
    }

    /// The addresses of the functions of a kernel.
    record KernelFunctions(MemorySegment create, MemorySegment compute, MemorySegment delete) {}

    /// Registers a type. Its nodes are stateful, so that TensorFlow neither merges nor precomputes
    /// them.
    void registerOp(OpType type) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment name = arena.allocateFrom(type.typeName(), UTF_8);
            MemorySegment builder =
                    run(
                            "TF_NewOpDefinitionBuilder",
                            () -> (MemorySegment) newBuilder.invokeExact(name));
            for (String attribute :
                    List.of(
                            Node.INPUT_TYPES + ": list(type) >= 0",
                            Node.OUTPUT_TYPES + ": list(type) >= 0",
                            Node.FUNCTION + ": int",
                            Node.DESCRIPTION + ": string",
                            Node.TENSOR_NAME + ": string")) {
                add(addAttribute, builder, arena.allocateFrom(attribute, UTF_8));
            }
            add(addInput, builder, arena.allocateFrom("inputs: " + Node.INPUT_TYPES, UTF_8));
            add(addOutput, builder, arena.allocateFrom("outputs: " + Node.OUTPUT_TYPES, UTF_8));
            run(
                    "TF_OpDefinitionBuilderSetIsStateful",
                    () -> {
                        setStateful.invokeExact(builder, true);
                        return true;
                    });
            add(setShapeFunction, builder, shapeFunctions.of(type.shapeRule()));
            library.check(
                    "TF_RegisterOpDefinition of " + type.typeName(),
                    status -> {
                        registerOp.invokeExact(builder, status);
                        return true;
                    });
        }
    }

    private static void add(MethodHandle function, MemorySegment builder, MemorySegment part) {
        run(
                "TF_OpDefinitionBuilder",
                () -> {
                    function.invokeExact(builder, part);
                    return true;
                });
    }

    /// Registers the kernel of a type.
    void registerAsyncKernel(OpType type, KernelFunctions functions) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment name = arena.allocateFrom(type.typeName(), UTF_8);
            MemorySegment device = arena.allocateFrom(DEVICE, UTF_8);
            MemorySegment builder =
                    run(
                            "TF_NewAsyncKernelBuilder",
                            () ->
                                    (MemorySegment)
                                            newAsyncKernel.invokeExact(
                                                    name,
                                                    device,
                                                    functions.create,
                                                    functions.compute,
                                                    functions.delete));
            library.check(
                    "TF_RegisterKernelBuilder of " + type.typeName(),
                    status -> {
                        registerKernel.invokeExact(name, builder, status);
                        return true;
                    });
        }
    }
}

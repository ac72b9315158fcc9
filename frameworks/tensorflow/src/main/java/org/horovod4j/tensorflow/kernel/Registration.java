package org.horovod4j.tensorflow.kernel;

import static org.horovod4j.natives.NativeLibrary.call;
import static org.horovod4j.natives.NativeLibrary.execute;

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
    private final MethodHandle newKernel;
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
        FunctionDescriptor fiveAddresses =
                FunctionDescriptor.of(ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS);
        newAsyncKernel = library.function("TF_NewAsyncKernelBuilder", fiveAddresses);
        newKernel = library.function("TF_NewKernelBuilder", fiveAddresses);
        registerKernel =
                library.function(
                        "TF_RegisterKernelBuilder",
                        FunctionDescriptor.ofVoid(ADDRESS, ADDRESS, ADDRESS));
    }

    /// The addresses of the functions of a kernel.
    record KernelFunctions(MemorySegment create, MemorySegment compute, MemorySegment delete) {}

    /// Registers the type whose nodes run a whole collective.
    void registerOp(OpType type) {
        registerOp(
                type.typeName(),
                List.of("inputs: " + Node.INPUT_TYPES),
                "outputs: " + Node.OUTPUT_TYPES,
                shapeFunctions.of(type.shapeRule(), 0));
    }

    /// Registers the types whose nodes submit a collective and wait for it. The second one has the
    /// inputs of the first one, for their shapes.
    void registerPair(OpType type) {
        registerOp(
                type.startName(),
                List.of("inputs: " + Node.INPUT_TYPES),
                "handle: int64",
                shapeFunctions.of(OpType.ShapeRule.SCALAR, 0));
        registerOp(
                type.waitName(),
                List.of("inputs: " + Node.INPUT_TYPES, "handle: int64"),
                "outputs: " + Node.OUTPUT_TYPES,
                shapeFunctions.of(type.shapeRule(), 1));
    }

    /// Registers a type. Its nodes are stateful, so that TensorFlow neither merges nor precomputes
    /// them.
    private void registerOp(
            String typeName, List<String> inputs, String output, MemorySegment shapeFunction) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment name = arena.allocateFrom(typeName, UTF_8);
            MemorySegment builder =
                    call(
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
            for (String input : inputs) {
                add(addInput, builder, arena.allocateFrom(input, UTF_8));
            }
            add(addOutput, builder, arena.allocateFrom(output, UTF_8));
            execute(
                    "TF_OpDefinitionBuilderSetIsStateful",
                    () -> {
                        setStateful.invokeExact(builder, true);
                    });
            add(setShapeFunction, builder, shapeFunction);
            library.check(
                    "TF_RegisterOpDefinition of " + typeName,
                    status -> {
                        registerOp.invokeExact(builder, status);
                        return true;
                    });
        }
    }

    private static void add(MethodHandle function, MemorySegment builder, MemorySegment part) {
        execute(
                "TF_OpDefinitionBuilder",
                () -> {
                    function.invokeExact(builder, part);
                });
    }

    /// Registers the kernel of a type that ends its runs later.
    void registerAsyncKernel(String typeName, KernelFunctions functions) {
        register(newAsyncKernel, typeName, functions);
    }

    /// Registers the kernel of a type that ends its runs before it returns.
    void registerKernel(String typeName, KernelFunctions functions) {
        register(newKernel, typeName, functions);
    }

    private void register(
            MethodHandle newKernelBuilder, String typeName, KernelFunctions functions) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment name = arena.allocateFrom(typeName, UTF_8);
            MemorySegment device = arena.allocateFrom(DEVICE, UTF_8);
            MemorySegment builder =
                    call(
                            "the function that creates a kernel",
                            () ->
                                    (MemorySegment)
                                            newKernelBuilder.invokeExact(
                                                    name,
                                                    device,
                                                    functions.create,
                                                    functions.compute,
                                                    functions.delete));
            library.check(
                    "TF_RegisterKernelBuilder of " + typeName,
                    status -> {
                        registerKernel.invokeExact(name, builder, status);
                        return true;
                    });
        }
    }
}

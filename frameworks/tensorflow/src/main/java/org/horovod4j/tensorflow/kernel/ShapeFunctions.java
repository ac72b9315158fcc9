package org.horovod4j.tensorflow.kernel;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/// Functions that TensorFlow calls while a graph is built, to learn the shapes of outputs.
final class ShapeFunctions {
    private static final long UNKNOWN = -1;

    private final LibTensorFlow library;
    private final MethodHandle inputCount;
    private final MethodHandle newShape;
    private final MethodHandle deleteShape;
    private final MethodHandle getInput;
    private final MethodHandle setOutput;
    private final MethodHandle vector;
    private final MethodHandle scalar;
    private final MethodHandle subshape;
    private final MethodHandle concatenate;

    /// @throws UnsupportedOperationException when the library lacks a function
    ShapeFunctions(LibTensorFlow library) {
        this.library = library;
        inputCount =
                library.function(
                        "TF_ShapeInferenceContextNumInputs",
                        FunctionDescriptor.of(JAVA_LONG, ADDRESS));
        newShape = library.function("TF_NewShapeHandle", FunctionDescriptor.of(ADDRESS));
        deleteShape = library.function("TF_DeleteShapeHandle", FunctionDescriptor.ofVoid(ADDRESS));
        FunctionDescriptor indexed = FunctionDescriptor.ofVoid(ADDRESS, JAVA_INT, ADDRESS, ADDRESS);
        getInput = library.function("TF_ShapeInferenceContextGetInput", indexed);
        setOutput = library.function("TF_ShapeInferenceContextSetOutput", indexed);
        vector =
                library.function(
                        "TF_ShapeInferenceContextVectorFromSize",
                        FunctionDescriptor.of(ADDRESS, ADDRESS, JAVA_LONG));
        scalar =
                library.function(
                        "TF_ShapeInferenceContextScalar", FunctionDescriptor.of(ADDRESS, ADDRESS));
        subshape =
                library.function(
                        "TF_ShapeInferenceContextSubshape",
                        FunctionDescriptor.ofVoid(
                                ADDRESS, ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS));
        concatenate =
                library.function(
                        "TF_ShapeInferenceContextConcatenateShapes",
                        FunctionDescriptor.ofVoid(ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS));
    }

    private interface ShapeFunction {
        @SuppressWarnings("UnusedMethod") // called through its handle
        void called(MemorySegment context, MemorySegment status);
    }

    /// The address of a function that follows a rule.
    ///
    /// @param otherInputs the number of inputs at the end that the rule does not concern
    MemorySegment of(OpType.ShapeRule rule, int otherInputs) {
        return LibTensorFlow.callback(
                ShapeFunction.class,
                (context, status) -> infer(rule, otherInputs, context, status),
                FunctionDescriptor.ofVoid(ADDRESS, ADDRESS));
    }

    private void infer(
            OpType.ShapeRule rule, int otherInputs, MemorySegment context, MemorySegment status) {
        try {
            switch (rule) {
                case SAME -> inferFromInputs(context, status, inputs(context) - otherInputs, false);
                case FIRST -> inferFromInputs(context, status, 1, false);
                case OTHER_ROWS ->
                        inferFromInputs(context, status, inputs(context) - otherInputs, true);
                case SCALAR -> {
                    MemorySegment shape = (MemorySegment) scalar.invokeExact(context);
                    setOutput.invokeExact(context, 0, shape, status);
                    deleteShape.invokeExact(shape);
                }
            }
        } catch (Throwable e) { // nothing may be thrown into native code
            library.fail(status, "Horovod4J cannot infer the shape of a node: " + e);
        }
    }

    private long inputs(MemorySegment context) throws Throwable {
        return (long) inputCount.invokeExact(context);
    }

    /// @param count of the inputs
    private void inferFromInputs(
            MemorySegment context, MemorySegment status, long count, boolean otherRows)
            throws Throwable {
        for (int i = 0; i < count; i++) {
            MemorySegment shape = (MemorySegment) newShape.invokeExact();
            getInput.invokeExact(context, i, shape, status);
            if (otherRows) {
                MemorySegment rows = (MemorySegment) vector.invokeExact(context, UNKNOWN);
                subshape.invokeExact(context, shape, 1L, Long.MAX_VALUE, shape, status);
                concatenate.invokeExact(context, rows, shape, shape, status);
                deleteShape.invokeExact(rows);
            }
            setOutput.invokeExact(context, i, shape, status);
            deleteShape.invokeExact(shape);
        }
    }
}

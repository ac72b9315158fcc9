package org.horovod4j.tensorflow.kernel;

import org.horovod4j.DataType;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.tensorflow.kernel.KernelApi.NativeTensor;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/// The run of an asynchronous kernel, in the memory of TensorFlow.
final class ContextExecution implements Execution {
    private final KernelApi api;
    private final MemorySegment context;
    private final boolean isKnownBuild;
    private final Runnable done;
    private final @Nullable Tensor[] inputs;
    private final List<NativeTensor> held = new ArrayList<>();

    /// @param context of the run, which TensorFlow keeps until `done` is called
    /// @param isKnownBuild whether our tests run with this build of TensorFlow
    ContextExecution(KernelApi api, MemorySegment context, boolean isKnownBuild, Runnable done) {
        this.api = api;
        this.context = context;
        this.isKnownBuild = isKnownBuild;
        this.done = done;
        this.inputs = new @Nullable Tensor[api.inputCount(context)];
    }

    @Override
    public int inputCount() {
        return inputs.length;
    }

    @Override
    public Tensor input(int index) {
        Tensor known = inputs[index];
        if (known != null) {
            return known;
        }
        Tensor tensor = hold(api.input(context, index));
        inputs[index] = tensor;
        return tensor;
    }

    /// TensorFlow gives the memory of an input to an output only if the kernel does not hold the
    /// input, so the input is held only as long as it takes to read its shape.
    @Override
    public Tensor outputLike(int index) {
        NativeTensor input = api.input(context, index);
        Shape shape = input.tensor().shape();
        api.delete(input);
        KernelApi.Output output = api.outputLike(context, index, shape);
        Tensor tensor = hold(output.tensor());
        if (output.isForwarded()) {
            inputs[index] = tensor;
        }
        return tensor;
    }

    @Override
    public Tensor output(int index, DataType dataType, Shape shape) {
        return hold(api.output(context, index, dataType, shape));
    }

    private Tensor hold(NativeTensor tensor) {
        held.add(tensor);
        return tensor.tensor();
    }

    @Override
    public boolean isCancelled() {
        return isKnownBuild && RunState.isCancelled(context);
    }

    @Override
    public void complete() {
        try {
            held.forEach(api::delete);
        } finally {
            done.run(); // or the session would wait forever
        }
    }

    @Override
    public void fail(Throwable cause) {
        try {
            api.failRun(context, Failures.record(cause));
        } finally {
            complete();
        }
    }
}

package org.horovod4j.tensorflow.kernel;

import org.horovod4j.DataType;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.tensorflow.kernel.KernelApi.NativeTensor;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;

/// A run that one node starts and another one ends. Its outputs are in our memory until then.
final class BufferedExecution implements Execution {
    private final KernelApi api;
    private final List<NativeTensor> inputs = new ArrayList<>();
    private final SortedMap<Integer, Tensor> outputs = new TreeMap<>();
    private final CompletableFuture<SortedMap<Integer, Tensor>> result = new CompletableFuture<>();

    /// @param context of the node that starts the run
    BufferedExecution(KernelApi api, MemorySegment context) {
        this.api = api;
        try {
            for (int i = 0; i < api.inputCount(context); i++) {
                inputs.add(api.input(context, i));
            }
        } catch (RuntimeException | Error e) {
            inputs.forEach(api::delete);
            throw e;
        }
    }

    @Override
    public int inputCount() {
        return inputs.size();
    }

    @Override
    public Tensor input(int index) {
        return inputs.get(index).tensor();
    }

    @Override
    public Tensor outputLike(int index) {
        return output(index, input(index).dataType(), input(index).shape());
    }

    @Override
    public Tensor output(int index, DataType dataType, Shape shape) {
        Tensor output = Tensor.zeros(dataType, shape);
        outputs.put(index, output);
        return output;
    }

    @Override
    public void complete() {
        try {
            inputs.forEach(api::delete);
        } finally {
            result.complete(outputs);
        }
    }

    @Override
    public void fail(Throwable cause) {
        try {
            inputs.forEach(api::delete);
        } finally {
            result.completeExceptionally(cause);
        }
    }

    /// Waits for the end and copies the outputs to those of the node that ends the run.
    ///
    /// @throws java.util.concurrent.CompletionException the failure of the run
    void finish(MemorySegment context) {
        result.join()
                .forEach(
                        (index, tensor) -> {
                            NativeTensor output =
                                    api.output(context, index, tensor.dataType(), tensor.shape());
                            try {
                                output.tensor().segment().copyFrom(tensor.segment());
                            } finally {
                                api.delete(output);
                            }
                        });
    }
}

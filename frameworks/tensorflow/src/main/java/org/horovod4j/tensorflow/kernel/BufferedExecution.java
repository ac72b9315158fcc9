package org.horovod4j.tensorflow.kernel;

import org.horovod4j.DataType;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;

import java.time.Duration;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/// A run whose outputs are in our memory until they are asked for.
final class BufferedExecution implements Execution {
    private final List<Tensor> inputs;
    private final Runnable release;
    private final SortedMap<Integer, Tensor> outputs = new TreeMap<>();
    private final CompletableFuture<List<Tensor>> result = new CompletableFuture<>();

    /// @param release called when the inputs are not needed any more
    BufferedExecution(List<Tensor> inputs, Runnable release) {
        this.inputs = List.copyOf(inputs);
        this.release = release;
    }

    @Override
    public int inputCount() {
        return inputs.size();
    }

    @Override
    public Tensor input(int index) {
        return inputs.get(index);
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
            release.run();
        } finally {
            result.complete(List.copyOf(outputs.values()));
        }
    }

    @Override
    public void fail(Throwable cause) {
        try {
            release.run();
        } finally {
            result.completeExceptionally(cause);
        }
    }

    /// Waits for the end, but not longer.
    ///
    /// @return whether it has ended
    boolean await(Duration limit) {
        CompletableFuture<Void> ended = result.handle((_, _) -> null);
        return ended.completeOnTimeout(null, limit.toMillis(), TimeUnit.MILLISECONDS)
                .thenApply(_ -> result.isDone())
                .join();
    }

    /// Waits for the end.
    ///
    /// @return the outputs
    /// @throws java.util.concurrent.CompletionException the failure of the run
    List<Tensor> await() {
        return result.join();
    }
}

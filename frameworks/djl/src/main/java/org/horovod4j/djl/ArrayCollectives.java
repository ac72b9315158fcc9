package org.horovod4j.djl;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.AlltoallOptions;
import org.horovod4j.AlltoallResult;
import org.horovod4j.Communicator;
import org.horovod4j.DeviceStream;
import org.horovod4j.Handle;
import org.horovod4j.HorovodException;
import org.horovod4j.ReduceOp;
import org.horovod4j.ReducescatterOptions;
import org.horovod4j.Tensor;
import org.horovod4j.djl.engine.EngineAccess;
import org.horovod4j.training.DeviceSupport;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/// The collectives of a [Communicator] on arrays of DJL, of any engine and device.
///
/// ```java
/// NDArray sum = new ArrayCollectives(comm).allreduce("sum", array, ReduceOp.SUM);
/// ```
///
/// A result is a new array on the device and of the manager of the input, which does not change. Arrays
/// of PyTorch and MXNet are used where they are: in main memory and, with `horovod4j-cuda`, arrays of
/// PyTorch on a GPU. Others are copied to the host and back. An input of an asynchronous call must stay
/// open and unchanged until the handle is done. A call that fails leaves no array open.
///
/// On a GPU, a call that is not asynchronous does not wait for the GPU. What the engine launches after
/// it runs after the collective.
///
/// Backward does not differentiate through these: see [DifferentiableCollectives].
public final class ArrayCollectives {
    private final Communicator communicator;

    public ArrayCollectives(Communicator communicator) {
        this.communicator = communicator;
    }

    /// Reduces `array` over all ranks. See [Communicator#allreduce(String, Tensor, ReduceOp)].
    public NDArray allreduce(String name, NDArray array, ReduceOp op) {
        return await(array, allreduceAsync(name, array, op));
    }

    public Handle<NDArray> allreduceAsync(String name, NDArray array, ReduceOp op) {
        return allreduceAsync(name, array, AllreduceOptions.of(op));
    }

    /// Reduces `array` over all ranks, with scaling, compression or a process set.
    public Handle<NDArray> allreduceAsync(String name, NDArray array, AllreduceOptions options) {
        return start(
                outputs -> {
                    Output output = outputs.like(array);
                    return communicator
                            .allreduceAsync(name, tensor(array), output.tensor(), options)
                            .thenApply(_ -> output.complete());
                });
    }

    /// Reduces each array over all ranks, as one group.
    public NDList groupedAllreduce(String name, NDList arrays, ReduceOp op) {
        Handle<NDList> handle = groupedAllreduceAsync(name, arrays, op);
        return arrays.isEmpty() ? handle.join() : await(arrays.getFirst(), handle);
    }

    public Handle<NDList> groupedAllreduceAsync(String name, NDList arrays, ReduceOp op) {
        return groupedAllreduceAsync(name, arrays, AllreduceOptions.of(op));
    }

    /// Reduces each array over all ranks, as one group, with scaling, compression or a process set.
    public Handle<NDList> groupedAllreduceAsync(
            String name, NDList arrays, AllreduceOptions options) {
        return start(
                outputs -> {
                    List<Output> all = arrays.stream().map(outputs::copyOf).toList();
                    List<Tensor> tensors = all.stream().map(Output::tensor).toList();
                    return communicator
                            .groupedAllreduceAsync(name, tensors, options)
                            .thenApply(
                                    _ -> new NDList(all.stream().map(Output::complete).toList()));
                });
    }

    /// Joins the ranks' arrays along the first dimension. First dimensions may differ.
    public NDArray allgather(String name, NDArray array) {
        return await(array, allgatherAsync(name, array));
    }

    public Handle<NDArray> allgatherAsync(String name, NDArray array) {
        return communicator
                .allgatherAsync(name, tensor(array))
                .thenApply(result -> arrayOf(array, result));
    }

    /// The array of `rootRank`. All ranks pass an array of the same type and shape.
    public NDArray broadcast(String name, NDArray array, int rootRank) {
        return await(array, broadcastAsync(name, array, rootRank));
    }

    public Handle<NDArray> broadcastAsync(String name, NDArray array, int rootRank) {
        return start(
                outputs -> {
                    Output output = outputs.copyOf(array);
                    return communicator
                            .broadcastAsync(name, output.tensor(), rootRank)
                            .thenApply(_ -> output.complete());
                });
    }

    /// Sends rows of `array` to each rank; the options say how many each rank gets.
    public AlltoallArray alltoall(String name, NDArray array, AlltoallOptions options) {
        return await(array, alltoallAsync(name, array, options));
    }

    public Handle<AlltoallArray> alltoallAsync(
            String name, NDArray array, AlltoallOptions options) {
        return communicator
                .alltoallAsync(name, tensor(array), options)
                .thenApply(result -> alltoallArray(array, result));
    }

    /// Reduces `array` over all ranks and returns to each its part of the rows. The first ranks get one
    /// row more if rows do not divide evenly. `op` is AVERAGE or SUM.
    public NDArray reducescatter(String name, NDArray array, ReduceOp op) {
        return await(array, reducescatterAsync(name, array, op));
    }

    public Handle<NDArray> reducescatterAsync(String name, NDArray array, ReduceOp op) {
        return reducescatterAsync(name, array, ReducescatterOptions.of(op));
    }

    /// The same with scaling or a process set.
    public Handle<NDArray> reducescatterAsync(
            String name, NDArray array, ReducescatterOptions options) {
        return communicator
                .reducescatterAsync(name, tensor(array), options)
                .thenApply(result -> arrayOf(array, result));
    }

    private Tensor tensor(NDArray array) {
        return TensorView.of(array, communicator).tensor();
    }

    /// Waits for the result; on a GPU with the stream on which this thread uses it.
    private <T> T await(NDArray input, Handle<T> handle) {
        return EngineAccess.of(input.getManager()).stream(input.getDevice())
                .filter(stream -> DeviceSupport.isAvailable(communicator, stream.device()))
                .map(handle::awaitOn)
                .orElseGet(handle::join);
    }

    private static AlltoallArray alltoallArray(NDArray input, AlltoallResult result) {
        return new AlltoallArray(arrayOf(input, result.tensor()), splits(result));
    }

    static List<Integer> splits(AlltoallResult result) {
        return Arrays.stream(result.receivedSplits()).boxed().toList();
    }

    /// A new array with these elements, on the device of `input`.
    private static NDArray arrayOf(NDArray input, Tensor elements) {
        NDArray array = newArray(input, shape(elements));
        try {
            EngineAccess.of(array.getManager()).write(array, elements);
            return array;
        } catch (RuntimeException | Error e) {
            array.close();
            throw e;
        }
    }

    private static NDArray newArray(NDArray input, Shape shape) {
        NDManager manager = input.getManager();
        Device device = input.getDevice();
        if (device.equals(manager.getDevice())) {
            return manager.create(shape, input.getDataType());
        }
        try (NDManager there = manager.newSubManager(device)) {
            NDArray array = there.create(shape, input.getDataType());
            array.attach(manager);
            return array;
        }
    }

    static Shape shape(Tensor tensor) {
        return new Shape(tensor.shape().toArray());
    }

    /// Starts an operation that writes new arrays.
    private <T> Handle<T> start(Function<Outputs, Handle<T>> operation) {
        Outputs outputs = new Outputs(communicator);
        try {
            return new OutputHandle<>(operation.apply(outputs), outputs);
        } catch (RuntimeException | Error e) {
            outputs.close();
            throw e;
        }
    }

    /// The new arrays that an operation writes.
    private static final class Outputs {
        private final Communicator communicator;
        private final List<NDArray> arrays = new ArrayList<>();

        Outputs(Communicator communicator) {
            this.communicator = communicator;
        }

        Output like(NDArray input) {
            NDArray array = newArray(input, input.getShape());
            arrays.add(array);
            return new Output(array, TensorView.of(array, communicator));
        }

        /// With the elements of `input`.
        Output copyOf(NDArray input) {
            Output output = like(input);
            EngineAccess.of(input.getManager()).read(input, output.tensor());
            return output;
        }

        void close() {
            arrays.forEach(NDArray::close);
        }
    }

    private record Output(NDArray array, TensorView view) {
        Tensor tensor() {
            return view.tensor();
        }

        NDArray complete() {
            view.writeBack();
            return array;
        }
    }

    /// Closes the arrays of an operation that has failed, as soon as the program sees the failure.
    private record OutputHandle<T>(Handle<T> handle, Outputs outputs) implements Handle<T> {
        @Override
        public boolean isDone() {
            boolean done = handle.isDone();
            closeAfterFailure();
            return done;
        }

        @Override
        public T join() {
            try {
                return handle.join();
            } finally {
                closeAfterFailure();
            }
        }

        @Override
        public T join(Duration timeout) {
            try {
                return handle.join(timeout);
            } finally {
                closeAfterFailure();
            }
        }

        @Override
        public T awaitOn(DeviceStream stream) {
            try {
                return handle.awaitOn(stream);
            } finally {
                closeAfterFailure();
            }
        }

        @Override
        public Optional<HorovodException> failure() {
            closeAfterFailure();
            return handle.failure();
        }

        private void closeAfterFailure() {
            if (handle.failure().isPresent()) {
                outputs.close();
            }
        }
    }
}

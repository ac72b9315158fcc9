package org.horovod4j.djl;

import ai.djl.ndarray.NDArray;

import org.horovod4j.Communicator;
import org.horovod4j.DeviceStream;
import org.horovod4j.Tensor;
import org.horovod4j.djl.engine.DataTypes;
import org.horovod4j.djl.engine.EngineAccess;
import org.horovod4j.training.DeviceSupport;

import java.util.Optional;

/// The elements of an array as a tensor: in the memory of the engine or, if that is not accessible, as
/// a copy in main memory that [#writeBack] writes into the array.
public final class TensorView {
    private final EngineAccess engine;
    private final NDArray array;
    private final Tensor tensor;
    private final boolean copied;

    private TensorView(EngineAccess engine, NDArray array, Tensor tensor, boolean copied) {
        this.engine = engine;
        this.array = array;
        this.tensor = tensor;
        this.copied = copied;
    }

    /// The elements in main memory, for the CPU: those of an array on a GPU are a copy.
    public static TensorView of(NDArray array) {
        EngineAccess engine = EngineAccess.of(array.getManager());
        engine.await(array);
        return engine.tensor(array)
                .filter(tensor -> tensor.device().isHost())
                .map(tensor -> new TensorView(engine, array, tensor, false))
                .orElseGet(
                        () ->
                                copy(
                                        engine,
                                        array,
                                        Tensor.zeros(
                                                DataTypes.of(array.getDataType()),
                                                DataTypes.shape(array))));
    }

    /// The elements where collectives of `communicator` can use them: on a GPU, if they support it.
    static TensorView of(NDArray array, Communicator communicator) {
        EngineAccess engine = EngineAccess.of(array.getManager());
        Optional<DeviceStream> stream =
                engine.stream(array.getDevice())
                        .filter(each -> DeviceSupport.isAvailable(communicator, each.device()));
        if (stream.isEmpty()) {
            return of(array);
        }
        return engine.tensor(array)
                .map(tensor -> new TensorView(engine, array, tensor, false))
                .orElseGet(
                        () ->
                                copy(
                                        engine,
                                        array,
                                        communicator
                                                .allocate(
                                                        stream.get().device(),
                                                        DataTypes.of(array.getDataType()),
                                                        DataTypes.shape(array))
                                                .readyOn(stream.get())));
    }

    private static TensorView copy(EngineAccess engine, NDArray array, Tensor copy) {
        engine.read(array, copy);
        return new TensorView(engine, array, copy, true);
    }

    /// The elements. The array must stay open while the tensor is in use.
    public Tensor tensor() {
        return tensor;
    }

    /// Writes the tensor into the array, if it is a copy.
    public void writeBack() {
        if (copied) {
            engine.write(array, tensor);
        }
    }
}

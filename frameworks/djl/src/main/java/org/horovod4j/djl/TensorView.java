package org.horovod4j.djl;

import ai.djl.ndarray.NDArray;

import org.horovod4j.Tensor;
import org.horovod4j.djl.engine.DataTypes;
import org.horovod4j.djl.engine.EngineAccess;

import java.lang.foreign.MemorySegment;
import java.util.Optional;

/// An array's elements as a tensor: its own memory where the engine lends it, else a copy that
/// [#writeBack] writes into the array.
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

    public static TensorView of(NDArray array) {
        EngineAccess engine = EngineAccess.of(array.getManager());
        engine.await(array);
        Optional<MemorySegment> memory = engine.memory(array);
        if (memory.isPresent()) {
            Tensor own =
                    Tensor.of(
                            memory.get(),
                            DataTypes.of(array.getDataType()),
                            DataTypes.shape(array));
            return new TensorView(engine, array, own, false);
        }
        Tensor copy = Tensor.zeros(DataTypes.of(array.getDataType()), DataTypes.shape(array));
        engine.read(array, copy.segment());
        return new TensorView(engine, array, copy, true);
    }

    /// The elements; the array must not be closed while this is used.
    public Tensor tensor() {
        return tensor;
    }

    /// Lets the array have what is in the tensor now.
    public void writeBack() {
        if (copied) {
            engine.write(array, tensor.segment());
        }
    }
}

package org.horovod4j.djl;

import ai.djl.ndarray.NDArray;

import org.horovod4j.Tensor;
import org.horovod4j.djl.engine.DataTypes;
import org.horovod4j.djl.engine.EngineAccess;

import java.lang.foreign.MemorySegment;
import java.util.Optional;

/// The elements of an array as a tensor: in the memory of the engine or, if that is not accessible, as
/// a copy that [#writeBack] writes into the array.
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

    /// The elements. The array must stay open while the tensor is in use.
    public Tensor tensor() {
        return tensor;
    }

    /// Writes the tensor into the array, if it is a copy.
    public void writeBack() {
        if (copied) {
            engine.write(array, tensor.segment());
        }
    }
}

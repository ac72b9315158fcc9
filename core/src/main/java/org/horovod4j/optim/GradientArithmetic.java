package org.horovod4j.optim;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;
import org.horovod4j.collectives.kernel.Kernel;
import org.horovod4j.collectives.kernel.Kernels;

import java.lang.foreign.MemorySegment;

/// Arithmetic on gradients outside collectives.
final class GradientArithmetic {
    private final Kernels kernels = Kernels.best();
    private final Gradients gradients;

    /// @param gradients scale those on a device
    GradientArithmetic(Gradients gradients) {
        this.gradients = gradients;
    }

    void scale(Tensor tensor, double factor) {
        if (factor == 1) {
            return;
        }
        if (!tensor.device().isHost()) {
            gradients.scale(tensor, factor);
            return;
        }
        Tensor values = offHeap(tensor);
        kernels.scale(values.dataType(), values.segment(), 0, values.elementCount(), factor);
        if (values != tensor) {
            tensor.segment().copyFrom(values.segment());
        }
    }

    /// A gradient that stays on this rank, scaled. It is dense, because a backward pass may produce
    /// the same row twice, and rows in any order.
    Gradient.Dense scaledDense(Gradient gradient, double factor) {
        Tensor tensor =
                switch (gradient) {
                    case Gradient.Dense(Tensor whole) -> whole;
                    case Gradient.Sparse(SparseTensor rows) -> toDense(rows);
                };
        scale(tensor, factor);
        return new Gradient.Dense(tensor);
    }

    /// A new dense tensor. Rows that occur twice are added.
    Tensor toDense(SparseTensor rows) {
        DataType dataType = rows.values().dataType();
        Tensor whole = Tensor.zeros(dataType, rows.denseShape());
        Kernel sum = kernels.kernel(dataType, ReduceOp.SUM);
        long rowElements = rows.denseShape().rowElements();
        long rowBytes = rowElements * dataType.byteSize();
        MemorySegment target = whole.segment();
        MemorySegment row = offHeap(rows.values()).segment();
        for (long i = 0; i < rows.rowCount(); i++) {
            long at = rows.index(i) * rowBytes;
            sum.combine(target, at, target, at, row, i * rowBytes, rowElements);
        }
        return whole;
    }

    /// Kernels need memory outside the heap. Few frameworks use heap arrays.
    private static Tensor offHeap(Tensor tensor) {
        return tensor.segment().isNative() ? tensor : tensor.copy();
    }
}

package org.horovod4j.optim;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.Communicator;
import org.horovod4j.Compressor;
import org.horovod4j.Handle;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.SparseResult;
import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;
import org.horovod4j.compression.Compression;

import java.util.ArrayList;
import java.util.List;

/// Reduces gradients over several ranks.
///
/// Collectives scale at no extra cost. A compressor takes no factors, so tensors are scaled
/// separately before and after it.
record DistributedReduction(
        Communicator communicator,
        ReduceOp op,
        Compressor compressor,
        Scale scale,
        GradientArithmetic gradientArithmetic)
        implements GradientReduction {
    @Override
    public Handle<List<Gradient>> reduce(String name, List<String> members, List<Tensor> tensors) {
        if (compressor != Compression.NONE) {
            return compress(members, tensors);
        }
        AllreduceOptions options = AllreduceOptions.of(op).withScale(scale);
        if (tensors.size() == 1) {
            Tensor tensor = tensors.getFirst();
            return communicator
                    .allreduceAsync(name, tensor, options)
                    .thenApply(reduced -> List.of(new Gradient.Dense(reduced)));
        }
        return communicator
                .groupedAllreduceAsync(name, tensors, options)
                .thenApply(DistributedReduction::dense);
    }

    /// A compressor may remember by name what it has left out of a tensor. So the name is that of the
    /// parameter, not a position in the group.
    private Handle<List<Gradient>> compress(List<String> members, List<Tensor> tensors) {
        List<Handle<Tensor>> handles = new ArrayList<>();
        for (int i = 0; i < tensors.size(); i++) {
            Tensor tensor = tensors.get(i);
            if (!tensor.device().isHost()) { // its backend scales and converts
                return compressOnDevice(members, tensors);
            }
            gradientArithmetic.scale(tensor, scale.prescale());
            handles.add(compressor.allreduceAsync(communicator, members.get(i), tensor, op));
        }
        return Handle.allOf(handles)
                .thenApply(
                        reduced -> {
                            for (Tensor tensor : reduced) {
                                gradientArithmetic.scale(tensor, scale.postscale());
                            }
                            return dense(reduced);
                        });
    }

    private Handle<List<Gradient>> compressOnDevice(List<String> members, List<Tensor> tensors) {
        AllreduceOptions options =
                AllreduceOptions.of(op).withScale(scale).withCompressor(compressor);
        List<Handle<Tensor>> handles = new ArrayList<>();
        for (int i = 0; i < tensors.size(); i++) {
            handles.add(communicator.allreduceAsync(members.get(i), tensors.get(i), options));
        }
        return Handle.allOf(handles).thenApply(DistributedReduction::dense);
    }

    private static List<Gradient> dense(List<Tensor> tensors) {
        return tensors.stream().<Gradient>map(Gradient.Dense::new).toList();
    }

    @Override
    public Handle<Gradient> reduce(String name, SparseTensor rows) {
        if (op == ReduceOp.ADASUM) {
            throw new IllegalStateException(
                    """
                    the gradient of '%s' is sparse, but Adasum needs dense tensors
                    Set sparseAsDense, or reduce by AVERAGE."""
                            .formatted(name));
        }
        gradientArithmetic.scale(rows.values(), scale.prescale());
        return communicator.sparseAllreduceAsync(name, rows, op).thenApply(this::scaled);
    }

    private Gradient scaled(SparseResult result) {
        return switch (result) {
            case SparseResult.Rows(SparseTensor rows) -> {
                gradientArithmetic.scale(rows.values(), scale.postscale());
                yield new Gradient.Sparse(rows);
            }
            case SparseResult.Dense(Tensor whole) -> {
                gradientArithmetic.scale(whole, scale.postscale());
                yield new Gradient.Dense(whole);
            }
        };
    }

    @Override
    public int size() {
        return communicator.size();
    }

    @Override
    public boolean isIdentity() {
        return false;
    }
}

package org.horovod4j.compression;

import org.horovod4j.Communicator;
import org.horovod4j.Compressor;
import org.horovod4j.Handle;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.sparse.AverageDivisor;
import org.horovod4j.sparse.SparseRequest;
import org.horovod4j.spi.DeviceWork;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongUnaryOperator;

/// Sends the values of the largest magnitude and keeps the others for later.
///
/// Each rank adds to a tensor the values of that name that it has not sent before, sends the `k`
/// largest values with their positions, and keeps the rest. By this *error feedback* every gradient
/// counts, some of it late. The ranks gather their values and add them in the order of ranks, so all
/// get the same bits. Positions that no rank sent are zero.
///
/// | bytes sent by each rank | bytes received | memory kept           |
/// |-------------------------|----------------|-----------------------|
/// | `k` × (4 + element)     | those of all   | a copy of each tensor |
///
/// Use it if the network is slow and `k` × ranks is far below the length of the tensor. It takes
/// `float32` and `float64` with SUM and AVERAGE. Tensors of other types are reduced whole.
///
/// An instance keeps values by the name of the tensor: use one for each communicator, from any
/// thread.
public final class TopK implements Compressor {
    /// The largest length of an array.
    private static final int MAX_ELEMENTS = Integer.MAX_VALUE - 8;

    private final LongUnaryOperator selectedCountOf;
    private final Map<String, ErrorFeedback> errorFeedbacks = new ConcurrentHashMap<>();
    private final Map<String, DeviceTopK> deviceTensors = new ConcurrentHashMap<>();

    private TopK(LongUnaryOperator selectedCountOf) {
        this.selectedCountOf = selectedCountOf;
    }

    /// Sends this fraction of the values of each tensor, and at least one value.
    ///
    /// @param ratio above 0, and at most 1: everything
    public static TopK ratio(double ratio) {
        if (!(ratio > 0 && ratio <= 1)) {
            throw new IllegalArgumentException(
                    "the part of a tensor to send is above 0 and at most 1, not " + ratio);
        }
        return new TopK(elements -> (long) Math.ceil(ratio * elements));
    }

    /// Sends this number of values of each tensor, or all if it has fewer.
    public static TopK count(int count) {
        if (count < 1) {
            throw new IllegalArgumentException(
                    "top-k sends at least 1 value of a tensor, not " + count);
        }
        return new TopK(_ -> count);
    }

    /// A copy of the values that have not been sent of the tensor with this name, in one dimension.
    /// Empty if no such tensor was reduced.
    public Optional<Tensor> residual(String name) {
        DeviceTopK onDevice = deviceTensors.get(name);
        if (onDevice != null) {
            return Optional.of(onDevice.residual());
        }
        return Optional.ofNullable(errorFeedbacks.get(name))
                .map(ErrorFeedback::residual)
                .map(
                        left -> {
                            Tensor copy = Tensor.zeros(left.dataType(), left.shape());
                            copy.segment().copyFrom(left.segment());
                            return copy;
                        });
    }

    /// Drops all values that have not been sent, as after a return to a checkpoint.
    public void reset() {
        errorFeedbacks.clear();
        deviceTensors.clear();
    }

    @Override
    public Handle<Tensor> allreduceAsync(
            Communicator communicator, String name, Tensor tensor, ReduceOp op) {
        if (!Compression.isCompressible(tensor.dataType())) {
            return communicator.allreduceAsync(name, tensor, op);
        }
        checkReducible(name, tensor, op);
        if (!tensor.device().isHost()) {
            return onDevice(communicator, name, tensor)
                    .allreduceAsync(communicator, name, tensor, op);
        }
        ErrorFeedback errorFeedback =
                errorFeedbacks.computeIfAbsent(name, _ -> new ErrorFeedback());
        if (!errorFeedback.isIdle()) {
            throw inFlight(name);
        }
        DoubleView corrected = errorFeedback.addResidual(tensor);
        int[] sent = TopKSelection.select(corrected, selectedCount(corrected.count()));
        SparseRequest sparseRequest =
                new SparseRequest(tensor.shape(), op, Double.POSITIVE_INFINITY);
        Handle<List<Tensor>> gather =
                communicator.groupedAllgatherAsync(
                        name,
                        List.of(
                                sparseRequest.toTensor(sent.length),
                                Tensor.of(sent),
                                pick(corrected, sent).tensor()));
        return errorFeedback.track(
                gather.thenCompose(
                        gathered -> {
                            int ranks = sparseRequest.checkAgreement(name, gathered.get(0)).ranks();
                            return AverageDivisor.of(communicator, name, op, ranks)
                                    .thenApply(
                                            divisor -> {
                                                storeResult(
                                                        gathered, divisor, new DoubleView(tensor));
                                                errorFeedback.updateResidual(corrected, sent);
                                                return tensor;
                                            });
                        }));
    }

    /// What is kept for a tensor on a device. It begins without a residual if the tensor has changed its
    /// type, length or device, or the rank has been initialised again.
    private DeviceTopK onDevice(Communicator communicator, String name, Tensor tensor) {
        DeviceTopK kept = deviceTensors.get(name);
        if (kept != null && !kept.isIdle()) {
            throw inFlight(name);
        }
        DeviceWork work =
                DeviceWork.of(communicator)
                        .orElseThrow(
                                () ->
                                        new IllegalArgumentException(
                                                "allreduce of '%s' by top-k: this communicator has no devices"
                                                        .formatted(name)));
        if (kept == null || !kept.fits(work, tensor)) {
            kept = new DeviceTopK(work, tensor, selectedCount((int) tensor.elementCount()));
            deviceTensors.put(name, kept);
        }
        return kept;
    }

    private static IllegalArgumentException inFlight(String name) {
        return new IllegalArgumentException(
                "allreduce of '%s': '%s' is in flight; join its handle first"
                        .formatted(name, name));
    }

    @Override
    public boolean worksOnDevices() {
        return true;
    }

    /// Writes the sum of the values of all ranks, divided, to `target`.
    private static void storeResult(List<Tensor> gathered, int divisor, DoubleView target) {
        sum(gathered.get(1).toIntArray(), new DoubleView(gathered.get(2)), target);
        if (divisor > 1) {
            divide(target, divisor);
        }
    }

    private static void checkReducible(String name, Tensor tensor, ReduceOp op) {
        if (op != ReduceOp.SUM && op != ReduceOp.AVERAGE) {
            throw new IllegalArgumentException(
                    """
                    allreduce of '%s' by top-k: the reduce op is SUM or AVERAGE, not %s
                    Values that are not sent count as zero: reduce it without compression."""
                            .formatted(name, op));
        }
        if (tensor.elementCount() > MAX_ELEMENTS) {
            throw new IllegalArgumentException(
                    "allreduce of '%s' by top-k: %s has too many elements; split it"
                            .formatted(name, tensor));
        }
    }

    private int selectedCount(int elements) {
        return (int) Math.min(elements, selectedCountOf.applyAsLong(elements));
    }

    private static DoubleView pick(DoubleView values, int[] positions) {
        DoubleView picked = DoubleView.like(values.tensor(), positions.length);
        for (int i = 0; i < positions.length; i++) {
            picked.set(i, values.get(positions[i]));
        }
        return picked;
    }

    private static void sum(int[] positions, DoubleView terms, DoubleView target) {
        target.tensor().segment().fill((byte) 0);
        for (int i = 0; i < positions.length; i++) {
            target.set(positions[i], target.get(positions[i]) + terms.get(i));
        }
    }

    private static void divide(DoubleView values, int divisor) {
        for (int i = 0; i < values.count(); i++) {
            values.set(i, values.get(i) / divisor);
        }
    }
}

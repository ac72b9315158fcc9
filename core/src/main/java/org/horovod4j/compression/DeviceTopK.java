package org.horovod4j.compression;

import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.DeviceStream;
import org.horovod4j.Handle;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.sparse.AverageDivisor;
import org.horovod4j.sparse.SparseRequest;
import org.horovod4j.spi.DeviceDriver;
import org.horovod4j.spi.DeviceEvent;
import org.horovod4j.spi.DeviceWork;
import org.horovod4j.spi.SelectionKernels;
import org.jspecify.annotations.Nullable;

import java.util.List;

/// [TopK] of one tensor on a device: the device selects, adds and keeps the values, and its backend
/// gathers them. Only the numbers of values go through main memory. With `awaitOn` no thread waits for
/// the device.
///
/// All work is on one stream, so memory that a step uses can be used again in the next one. Positions
/// of one rank differ, so the values of a rank are added in parallel; those of the ranks one after the
/// other, in their order. That gives all ranks the same bits, which are those of main memory.
final class DeviceTopK {
    private final DeviceDriver driver;
    private final DeviceStream stream;
    private final SelectionKernels kernels;
    private final DataType dataType;
    private final int count;

    /// The values that have not been sent.
    private Tensor residual;

    /// The values of this step: the residual of the next one, if the operation succeeds.
    private Tensor corrected;

    private final Tensor scratch;
    private final Tensor positions;
    private final Tensor picked;

    /// The operation in flight, until all its work is launched.
    private volatile @Nullable Handle<Tensor> latest;

    private volatile boolean launched = true;

    /// The last result. When it is done, [#residual] is no longer written.
    private @Nullable LaunchedTensor last;

    /// @param selected the number of values to send
    DeviceTopK(DeviceWork work, Tensor tensor, int selected) {
        this.driver = work.driver(tensor.device());
        this.stream = work.workStream(tensor.device());
        this.kernels = driver.selections();
        this.dataType = tensor.dataType();
        this.count = (int) tensor.elementCount();
        this.residual = driver.allocate(dataType, Shape.of(count));
        this.corrected = driver.allocate(dataType, Shape.of(count));
        this.scratch = driver.allocate(DataType.UINT8, Shape.of(kernels.scratchBytes()));
        this.positions = driver.allocate(DataType.INT32, Shape.of(selected));
        this.picked = driver.allocate(dataType, Shape.of(selected));
    }

    /// Whether it is for tensors like this one. Its stream ends with its driver: after a shutdown, and
    /// with each generation of an elastic job.
    boolean fits(DeviceWork work, Tensor tensor) {
        return tensor.dataType() == dataType
                && tensor.elementCount() == count
                && driver.equals(work.driver(tensor.device()));
    }

    /// Whether the operation before has launched all its work, or failed.
    boolean isIdle() {
        Handle<Tensor> before = latest;
        return launched || before == null || before.isDone();
    }

    /// Reduces `tensor` in place.
    synchronized Handle<Tensor> allreduceAsync(
            Communicator communicator, String name, Tensor tensor, ReduceOp op) {
        launched = false;
        awaitProducer(tensor);
        kernels.add(
                dataType,
                tensor.deviceAddress(),
                residual.deviceAddress(),
                corrected.deviceAddress(),
                count,
                stream);
        int selected = (int) positions.elementCount();
        kernels.selectLargest(
                dataType,
                corrected.deviceAddress(),
                count,
                selected,
                positions.deviceAddress(),
                picked.deviceAddress(),
                scratch.deviceAddress(),
                stream);
        SparseRequest sparseRequest =
                new SparseRequest(tensor.shape(), op, Double.POSITIVE_INFINITY);
        Handle<Tensor> requests =
                communicator.allgatherAsync(name + ".request", sparseRequest.toTensor(selected));
        Handle<List<Tensor>> gather =
                communicator.groupedAllgatherAsync(
                        name, List.of(positions.readyOn(stream), picked.readyOn(stream)));
        Handle<Tensor> sum =
                requests.thenCompose(
                        all -> {
                            int ranks = sparseRequest.checkAgreement(name, all).ranks();
                            long[] counts = sparseRequest.rowsByRank(all);
                            return AverageDivisor.of(communicator, name, op, ranks)
                                    .thenCompose(
                                            divisor ->
                                                    gather.thenCompose(
                                                            _ ->
                                                                    store(
                                                                            gather, counts,
                                                                            divisor, tensor)));
                        });
        latest = sum;
        return sum;
    }

    /// Launches the sum of what all ranks have sent, and makes the rest the residual.
    private synchronized Handle<Tensor> store(
            Handle<List<Tensor>> gather, long[] counts, int divisor, Tensor tensor) {
        List<Tensor> gathered = gather.awaitOn(stream);
        long target = tensor.deviceAddress();
        driver.fill(target, count, dataType.byteSize(), 0, stream);
        long position = gathered.get(0).deviceAddress();
        long value = gathered.get(1).deviceAddress();
        for (long ofRank : counts) {
            kernels.addAt(dataType, target, position, value, ofRank, stream);
            position += ofRank * Integer.BYTES;
            value += ofRank * dataType.byteSize();
        }
        if (divisor > 1) {
            kernels.divide(dataType, target, count, divisor, stream);
        }
        kernels.clear(
                dataType,
                corrected.deviceAddress(),
                count,
                positions.deviceAddress(),
                positions.elementCount(),
                stream);
        Tensor sent = corrected;
        corrected = residual;
        residual = sent;
        LaunchedTensor result = new LaunchedTensor(tensor, driver.record(stream), gathered);
        last = result;
        launched = true;
        return result;
    }

    private void awaitProducer(Tensor tensor) {
        tensor.producer()
                .ifPresent(
                        producer -> {
                            DeviceEvent ready = driver.record(producer);
                            ready.awaitOn(stream);
                            ready.release();
                        });
    }

    /// A copy of the residual in main memory. By a stream of its own, as the other one may be closed. No
    /// operation begins until the copy has ended.
    synchronized Tensor residual() {
        Tensor copy = Tensor.zeros(dataType, Shape.of(count));
        DeviceStream copying = driver.openStream(false);
        try {
            if (last != null) {
                last.awaitOn(copying);
            }
            driver.copyToHost(residual.deviceAddress(), copy.segment(), copying);
            return new LaunchedTensor(copy, driver.record(copying), residual).join();
        } finally {
            driver.closeStream(copying);
        }
    }
}

package org.horovod4j.tensorflow;

import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.AlltoallOptions;
import org.horovod4j.AlltoallResult;
import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.ReducescatterOptions;
import org.horovod4j.Shape;
import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;
import org.horovod4j.tensorflow.kernel.Execution;
import org.horovod4j.tensorflow.kernel.NodeFunction;
import org.horovod4j.training.TensorBroadcast;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/// What the node of a collective does. The kinds are records: equal ones are one function.
sealed interface CollectiveFunction extends NodeFunction {
    /// The ranks that take part.
    RankGroup ranks();

    /// Whether other ranks take part.
    default boolean isCollective() {
        return !(this instanceof Property);
    }

    /// Reduces one tensor, or several as a group.
    record Allreduce(RankGroup ranks, AllreduceOptions options) implements CollectiveFunction {
        @Override
        public void start(String name, Execution execution) {
            Communicator communicator = ranks.communicator();
            if (execution.inputCount() == 1) {
                Tensor output = execution.outputLike(0);
                RunCompletion.completeWhenDone(
                        communicator,
                        name,
                        communicator.allreduceAsync(name, execution.input(0), output, options),
                        execution,
                        _ -> {});
                return;
            }
            List<Tensor> tensors = new ArrayList<>();
            for (int i = 0; i < execution.inputCount(); i++) {
                tensors.add(copyToOutput(execution, i));
            }
            RunCompletion.completeWhenDone(
                    communicator,
                    name,
                    communicator.groupedAllreduceAsync(name, tensors, options),
                    execution,
                    _ -> {});
        }
    }

    /// Sums or averages a tensor of which most rows are zero.
    ///
    /// Inputs are the tensor, the numbers of its other rows, and these rows.
    record SparseAllreduce(RankGroup ranks, ReduceOp op) implements CollectiveFunction {
        @Override
        public void start(String name, Execution execution) {
            Communicator communicator = ranks.communicator();
            Tensor output = execution.outputLike(0);
            SparseTensor rows =
                    new SparseTensor(execution.input(1), execution.input(2), output.shape());
            RunCompletion.completeWhenDone(
                    communicator,
                    name,
                    communicator.sparseAllreduceAsync(name, rows, op),
                    execution,
                    result -> output.segment().copyFrom(result.toDense().segment()));
        }
    }

    /// Returns the tensor of the root.
    record Broadcast(RankGroup ranks, int rootRank) implements CollectiveFunction {
        @Override
        public void start(String name, Execution execution) {
            Communicator communicator = ranks.communicator();
            Tensor tensor =
                    communicator.rank() == rootRank
                            ? copyToOutput(execution, 0)
                            : execution.outputLike(0);
            RunCompletion.completeWhenDone(
                    communicator,
                    name,
                    communicator.broadcastAsync(name, tensor, rootRank),
                    execution,
                    _ -> {});
        }
    }

    /// Returns the tensors of the root, after a check that all ranks have the same ones.
    ///
    /// @param tensorNames in the order of inputs
    record BroadcastAll(RankGroup ranks, List<String> tensorNames, int rootRank)
            implements CollectiveFunction {
        @Override
        public void start(String name, Execution execution) {
            Communicator communicator = ranks.communicator();
            Map<String, Tensor> tensors = new LinkedHashMap<>();
            for (int i = 0; i < execution.inputCount(); i++) {
                tensors.put(tensorNames.get(i), copyToOutput(execution, i));
            }
            RunCompletion.runBlocking(
                    name,
                    execution,
                    () -> TensorBroadcast.run(communicator, name, tensors, rootRank));
        }
    }

    /// Joins the rows of all ranks.
    record Allgather(RankGroup ranks) implements CollectiveFunction {
        @Override
        public void start(String name, Execution execution) {
            Communicator communicator = ranks.communicator();
            RunCompletion.completeWhenDone(
                    communicator,
                    name,
                    communicator.allgatherAsync(name, execution.input(0)),
                    execution,
                    result -> setOutput(execution, 0, result));
        }
    }

    /// Reduces a tensor and returns this rank's part of the rows.
    record Reducescatter(RankGroup ranks, ReducescatterOptions options)
            implements CollectiveFunction {
        @Override
        public void start(String name, Execution execution) {
            Communicator communicator = ranks.communicator();
            RunCompletion.completeWhenDone(
                    communicator,
                    name,
                    communicator.reducescatterAsync(name, execution.input(0), options),
                    execution,
                    result -> setOutput(execution, 0, result));
        }
    }

    /// Sends rows to each rank. The second input has the number of rows of each rank; none for equal
    /// parts.
    record Alltoall(RankGroup ranks) implements CollectiveFunction {
        @Override
        public void start(String name, Execution execution) {
            Communicator communicator = ranks.communicator();
            int[] splits = execution.input(1).toIntArray();
            RunCompletion.completeWhenDone(
                    communicator,
                    name,
                    communicator.alltoallAsync(
                            name,
                            execution.input(0),
                            splits.length == 0
                                    ? AlltoallOptions.equalSplits()
                                    : AlltoallOptions.splits(splits)),
                    execution,
                    result -> finish(execution, result));
        }

        private static void finish(Execution execution, AlltoallResult result) {
            setOutput(execution, 0, result.tensor());
            setOutput(execution, 1, Tensor.of(result.receivedSplits()));
        }
    }

    /// Waits until all ranks run the node; its output is 0.
    record Barrier(RankGroup ranks) implements CollectiveFunction {
        @Override
        public void start(String name, Execution execution) {
            Communicator communicator = ranks.communicator();
            RunCompletion.runBlocking(
                    name,
                    execution,
                    () -> {
                        communicator.barrier();
                        setScalar(execution, 0);
                    });
        }
    }

    /// Declares that this rank has no more data; the output is the last rank that did so.
    record Join(RankGroup ranks) implements CollectiveFunction {
        @Override
        public void start(String name, Execution execution) {
            Communicator communicator = ranks.communicator();
            RunCompletion.runBlocking(
                    name, execution, () -> setScalar(execution, communicator.join()));
        }
    }

    /// A number of the communicator at the time of the run, such as its rank.
    record Property(RankGroup ranks, Kind kind) implements CollectiveFunction {
        enum Kind {
            RANK,
            SIZE,
            LOCAL_RANK,
            LOCAL_SIZE
        }

        @Override
        public void start(String name, Execution execution) {
            Communicator communicator = ranks.communicator();
            setScalar(
                    execution,
                    switch (kind) {
                        case RANK -> communicator.rank();
                        case SIZE -> communicator.size();
                        case LOCAL_RANK -> communicator.localRank();
                        case LOCAL_SIZE -> communicator.localSize();
                    });
            execution.complete();
        }
    }

    /// Output `index` with the content of input `index`, if possible in its memory.
    private static Tensor copyToOutput(Execution execution, int index) {
        Tensor output = execution.outputLike(index);
        Tensor input = execution.input(index);
        if (output != input) {
            output.segment().copyFrom(input.segment());
        }
        return output;
    }

    private static void setOutput(Execution execution, int index, Tensor result) {
        execution
                .output(index, result.dataType(), result.shape())
                .segment()
                .copyFrom(result.segment());
    }

    private static void setScalar(Execution execution, int value) {
        execution
                .output(0, DataType.INT32, Shape.SCALAR)
                .segment()
                .set(JAVA_INT_UNALIGNED, 0, value);
    }
}

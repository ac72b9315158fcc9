package org.horovod4j.benchmarks.runtime;

import org.horovod4j.Communicator;
import org.horovod4j.Handle;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.benchmarks.KnownValues;

import java.util.ArrayList;
import java.util.List;

/// The gradients of one rank, last layer first as in a backward pass, and the ways to sum them over
/// all ranks.
final class SyntheticGradients {
    private final Communicator comm;
    private final List<String> names;
    private final List<Tensor> tensors;

    /// Reused in every step, as in a training loop.
    private final List<Handle<Tensor>> handles = new ArrayList<>();

    private SyntheticGradients(Communicator comm, List<String> names, List<Tensor> tensors) {
        this.comm = comm;
        this.names = names;
        this.tensors = tensors;
    }

    static SyntheticGradients allocate(
            Communicator comm, GradientMemory gradientMemory, List<ModelParameter> parameters) {
        List<Tensor> tensors =
                gradientMemory.allocate(
                        comm, parameters.stream().map(ModelParameter::shape).toList());
        return new SyntheticGradients(
                comm,
                parameters.stream().map(ModelParameter::name).toList().reversed(),
                tensors.reversed());
    }

    /// Last layer first.
    List<Tensor> tensors() {
        return List.copyOf(tensors);
    }

    /// Each gradient in one synchronous operation.
    void allreduceSync() {
        for (int i = 0; i < tensors.size(); i++) {
            comm.allreduce(names.get(i), tensors.get(i), ReduceOp.SUM);
        }
    }

    /// Submits each gradient after its part of the backward pass, then waits for all.
    void allreduceAsync(Runnable backward) {
        for (int i = 0; i < tensors.size(); i++) {
            backward.run();
            handles.add(comm.allreduceAsync(names.get(i), tensors.get(i), ReduceOp.SUM));
        }
        for (Handle<Tensor> handle : handles) {
            handle.join();
        }
        handles.clear();
    }

    void groupedAllreduce() {
        comm.groupedAllreduce("gradients", tensors, ReduceOp.SUM);
    }

    /// Only the backward pass.
    void computeOnly(Runnable backward) {
        for (int i = 0; i < tensors.size(); i++) {
            backward.run();
        }
    }

    /// Runs one step on known values and checks every sum: the time of a wrong result is
    /// meaningless. Then sets all values to zero, because the sums of other values would overflow.
    void verify(Runnable step) {
        for (int t = 0; t < tensors.size(); t++) {
            KnownValues.fill(comm, tensors.get(t), t);
        }
        step.run();
        for (int t = 0; t < tensors.size(); t++) {
            KnownValues.checkSums(comm, names.get(t), tensors.get(t), t);
            tensors.get(t).segment().fill((byte) 0);
        }
    }
}

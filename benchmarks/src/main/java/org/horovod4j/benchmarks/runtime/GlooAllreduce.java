package org.horovod4j.benchmarks.runtime;

import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.FileStore;
import org.bytedeco.pytorch.GlooDeviceVector;
import org.bytedeco.pytorch.ProcessGroupGloo;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.Work;
import org.bytedeco.pytorch.global.torch;
import org.horovod4j.Communicator;
import org.horovod4j.Tensor;
import org.horovod4j.pytorch.HvdTorch;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/// Sums tensors over all ranks by `ProcessGroupGloo` of `org.bytedeco:pytorch`, the collectives that a
/// program with this binding has without Horovod4J. Gloo sends over TCP, also within a host.
final class GlooAllreduce {
    private final ProcessGroupGloo group;

    /// One list for each tensor: the argument of an allreduce.
    private final List<TensorVector> tensors;

    /// Reused in every step.
    private final List<Work> pending = new ArrayList<>();

    /// All ranks create it together.
    ///
    /// @param tensors floats in native memory, which PyTorch's tensors use in place
    GlooAllreduce(Communicator comm, List<Tensor> tensors) {
        HvdTorch.load();
        this.group = group(comm);
        this.tensors = tensors.stream().map(GlooAllreduce::argument).toList();
    }

    private static ProcessGroupGloo group(Communicator comm) {
        try {
            // the ranks find each other by this file
            String file =
                    comm.broadcastObject(
                            "gloo file",
                            comm.rank() == 0
                                    ? Files.createTempDirectory("gloo").resolve("store").toString()
                                    : "",
                            0);
            ProcessGroupGloo.Options options = ProcessGroupGloo.Options.create();
            options.devices(
                    new GlooDeviceVector(ProcessGroupGloo.createDeviceForHostname("127.0.0.1")));
            ProcessGroupGloo group =
                    new ProcessGroupGloo(
                            new FileStore(file, comm.size()), comm.rank(), comm.size(), options);
            comm.barrier();
            if (comm.rank() == 0) {
                Files.deleteIfExists(Path.of(file));
                Files.deleteIfExists(Path.of(file).getParent());
            }
            return group;
        } catch (IOException e) {
            throw new UncheckedIOException("cannot create a file for the ranks of Gloo", e);
        }
    }

    private static TensorVector argument(Tensor tensor) {
        return new TensorVector(
                torch.from_blob(
                        new FloatPointer(tensor.segment().asByteBuffer().asFloatBuffer()),
                        tensor.shape().toArray()));
    }

    /// Submits all tensors, then waits for all.
    void run() {
        try (PointerScope _ = new PointerScope()) {
            for (TensorVector tensor : tensors) {
                pending.add(group.allreduce(tensor));
            }
            for (Work work : pending) {
                work._wait();
            }
            pending.clear();
        }
    }
}

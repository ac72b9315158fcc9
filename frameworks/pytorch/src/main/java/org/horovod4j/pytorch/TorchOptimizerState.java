package org.horovod4j.pytorch;

import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.ArchiveWriter;
import org.bytedeco.pytorch.InputArchive;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.OutputArchive;
import org.horovod4j.Communicator;
import org.horovod4j.training.RankConsistency;

import java.io.ByteArrayOutputStream;
import java.util.List;
import java.util.stream.LongStream;

/// The state of an optimizer of `torch::optim`, such as momentum, with its settings, such as the learning
/// rate. It has the format of `torch::save`.
public final class TorchOptimizerState {
    private static final String ACTION = "broadcastOptimizerState";

    private TorchOptimizerState() {}

    /// A copy of state and settings.
    public static byte[] save(Optimizer optimizer) {
        TorchLibrary.runtime();
        try (OutputArchive archive = new OutputArchive();
                Collector collector = new Collector()) {
            optimizer.save(archive);
            archive.save_to(collector);
            return collector.bytes();
        }
    }

    /// Overwrites state and settings.
    ///
    /// @param state of an optimizer of the same kind with the same parameters
    public static void load(Optimizer optimizer, byte[] state) {
        TorchLibrary.runtime();
        try (InputArchive archive = new InputArchive();
                BytePointer bytes = new BytePointer(state)) {
            archive.load_from(bytes, state.length);
            optimizer.load(archive);
        }
    }

    /// Overwrites state and settings with those of `rootRank`. All ranks call this.
    ///
    /// @throws org.horovod4j.MismatchException on all ranks, when a rank has another kind of optimizer or
    ///     another number of parameters
    public static void broadcast(Communicator communicator, Optimizer optimizer, int rootRank) {
        byte[] own = save(optimizer);
        Form form =
                new Form(optimizer.getClass().getSimpleName(), parameters(optimizer), own.length);
        Form root = communicator.broadcastObject(ACTION + ".form", form, rootRank);
        RankConsistency.check(
                communicator,
                ACTION,
                form.differences(root),
                "Use the same optimizer and the same network on every rank.");
        byte[] state = communicator.rank() == rootRank ? own : new byte[root.byteSize];
        communicator.broadcast(
                ACTION + ".state", org.horovod4j.Tensor.of(state, state.length), rootRank);
        load(optimizer, state);
    }

    private static long parameters(Optimizer optimizer) {
        return LongStream.range(0, optimizer.param_groups().size())
                .map(group -> optimizer.param_groups().get(group).params().size())
                .sum();
    }

    /// @param parameters the number of parameters
    private record Form(String optimizer, long parameters, int byteSize) {
        List<String> differences(Form root) {
            return optimizer.equals(root.optimizer) && parameters == root.parameters
                    ? List.of()
                    : List.of(
                            "uses %s with %d parameters, the root rank %s with %d"
                                    .formatted(
                                            optimizer,
                                            parameters,
                                            root.optimizer,
                                            root.parameters));
        }
    }

    /// Collects the bytes of an archive.
    private static final class Collector extends ArchiveWriter {
        private final ByteArrayOutputStream collected = new ByteArrayOutputStream();

        /// Called by libtorch.
        @Override
        public long call(Pointer data, long size) {
            byte[] part = new byte[Math.toIntExact(size)];
            new BytePointer(data).get(part);
            collected.writeBytes(part);
            return size;
        }

        byte[] bytes() {
            return collected.toByteArray();
        }
    }
}

package org.horovod4j.pytorch;

import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.ArchiveWriter;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.InputArchive;
import org.bytedeco.pytorch.OutputArchive;
import org.bytedeco.pytorch.StringVector;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/// What `torch::optim` saves: settings, and the state of those parameters that a step has changed.
///
/// `Optimizer.load` sets the state of parameters that are in the archive, and leaves that of all others
/// unchanged. The binding has no function that removes a state. So [#zeroed] sets it to the values that it
/// has before the first step, which are zeros.
///
/// ```
/// pytorch_version
/// state
///     94612    the id of a parameter
///         step, exp_avg, …
/// param_groups
///     param_groups/0
///         params/0    the id of a parameter
///         options
/// ```
final class OptimizerArchive {
    private static final String STATE = "state";
    private static final String GROUPS = "param_groups";

    private final InputArchive archive;

    private OptimizerArchive(InputArchive archive) {
        this.archive = archive;
    }

    static OptimizerArchive parse(byte[] saved) {
        InputArchive archive = new InputArchive();
        try (BytePointer bytes = new BytePointer(saved)) {
            archive.load_from(bytes, saved.length);
        }
        return new OptimizerArchive(archive);
    }

    InputArchive archive() {
        return archive;
    }

    /// The positions of the parameters that have a state.
    BitSet withState() {
        Set<String> ids = new HashSet<>(keys(child(archive, STATE)));
        BitSet positions = new BitSet();
        int position = 0;
        for (String id : parameterIds()) {
            positions.set(position++, ids.contains(id));
        }
        return positions;
    }

    private List<String> parameterIds() {
        List<String> ids = new ArrayList<>();
        InputArchive groups = child(archive, GROUPS);
        for (int group = 0; groups.try_read(GROUPS + "/" + group, new InputArchive()); group++) {
            InputArchive members = child(groups, GROUPS + "/" + group);
            IValue id = new IValue();
            for (int i = 0; members.try_read("params/" + i, id); i++) {
                ids.add(id.toStringRef().getString());
            }
        }
        return ids;
    }

    /// The same settings, with the state of an optimizer that has made no step.
    InputArchive zeroed() {
        try (OutputArchive out = new OutputArchive()) {
            copy(archive, out, false);
            return parse(bytes(out)).archive;
        }
    }

    private static void copy(InputArchive from, OutputArchive to, boolean asZeros) {
        for (String key : keys(from)) {
            InputArchive child = new InputArchive();
            if (from.try_read(key, child)) {
                OutputArchive copied = new OutputArchive(to.compilation_unit());
                copy(child, copied, asZeros || key.equals(STATE));
                to.write(key, copied);
            } else {
                IValue value = new IValue();
                from.read(key, value);
                if (value.isTensor()) {
                    Tensor tensor = value.toTensor();
                    to.write(key, asZeros ? torch.zeros_like(tensor) : tensor);
                } else {
                    to.write(key, asZeros && value.isInt() ? new IValue(0L) : value);
                }
            }
        }
    }

    private static InputArchive child(InputArchive parent, String key) {
        InputArchive child = new InputArchive();
        parent.read(key, child);
        return child;
    }

    private static List<String> keys(InputArchive archive) {
        List<String> keys = new ArrayList<>();
        StringVector names = archive.keys();
        for (long i = 0; i < names.size(); i++) {
            keys.add(names.get(i).getString());
        }
        return keys;
    }

    static byte[] bytes(OutputArchive archive) {
        try (Collector collector = new Collector()) {
            archive.save_to(collector);
            return collector.bytes();
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

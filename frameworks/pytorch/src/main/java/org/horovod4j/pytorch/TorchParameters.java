package org.horovod4j.pytorch;

import org.bytedeco.pytorch.JitModule;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NamedTensor;
import org.bytedeco.pytorch.StringTensorDict;
import org.bytedeco.pytorch.StringTensorDictItem;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.named_buffer_iterator;
import org.bytedeco.pytorch.named_buffer_list;
import org.bytedeco.pytorch.named_parameter_iterator;
import org.bytedeco.pytorch.named_parameter_list;
import org.horovod4j.Communicator;
import org.horovod4j.training.RankConsistency;
import org.horovod4j.training.TensorBroadcast;
import org.horovod4j.training.TensorSpec;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/// The parameters and buffers of modules, by the names that PyTorch gives them. The names are the same on
/// all ranks.
public final class TorchParameters {
    private static final String ACTION = "broadcastParameters";

    private TorchParameters() {}

    /// The parameters of a module.
    public static Map<String, Tensor> named(Module module) {
        try (StringTensorDict dictionary = module.named_parameters()) {
            return tensors(dictionary);
        }
    }

    /// The parameters of a module that was loaded from TorchScript.
    public static Map<String, Tensor> named(JitModule module) {
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        try (named_parameter_list list = module.named_parameters();
                named_parameter_iterator each = list.begin();
                named_parameter_iterator end = list.end()) {
            for (; each.notEquals(end); each.increment()) {
                put(tensors, each.multiply());
            }
        }
        return tensors;
    }

    /// Parameters and buffers, such as the running statistics of a batch norm.
    public static Map<String, Tensor> withBuffers(Module module) {
        Map<String, Tensor> tensors = named(module);
        try (StringTensorDict dictionary = module.named_buffers()) {
            tensors.putAll(tensors(dictionary));
        }
        return tensors;
    }

    /// Parameters and buffers of a module that was loaded from TorchScript.
    public static Map<String, Tensor> withBuffers(JitModule module) {
        Map<String, Tensor> tensors = named(module);
        try (named_buffer_list list = module.named_buffers();
                named_buffer_iterator each = list.begin();
                named_buffer_iterator end = list.end()) {
            for (; each.notEquals(end); each.increment()) {
                put(tensors, each.multiply());
            }
        }
        return tensors;
    }

    private static Map<String, Tensor> tensors(StringTensorDict dictionary) {
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        for (long i = 0; i < dictionary.size(); i++) {
            StringTensorDictItem item = dictionary.get(i);
            tensors.put(item.key().getString(), kept(item.value()));
        }
        return tensors;
    }

    private static void put(Map<String, Tensor> tensors, NamedTensor named) {
        tensors.put(named.name().getString(), kept(named.value()));
    }

    /// The same tensor, which a scope of the program does not free.
    static Tensor kept(Tensor tensor) {
        Tensor copy = new Tensor(tensor);
        copy.retainReference();
        return copy;
    }

    /// Overwrites tensors with those of `rootRank`, in place. All ranks call this.
    ///
    /// @param tensors by names that are the same on all ranks
    /// @throws org.horovod4j.MismatchException on all ranks, when the tensors of a rank differ
    public static void broadcast(
            Communicator communicator, Map<String, Tensor> tensors, int rootRank) {
        Map<String, org.horovod4j.Tensor> views = new LinkedHashMap<>();
        tensors.forEach((name, tensor) -> views.put(name, TensorMemory.view(tensor)));
        List<TensorSpec> own = TensorSpec.ofAll(views);
        List<TensorSpec> roots = communicator.broadcastObject(ACTION + ".names", own, rootRank);
        RankConsistency.check(
                communicator,
                ACTION,
                TensorSpec.differences(roots, own),
                "Build the same network on every rank.");
        TensorBroadcast.overwrite(communicator, "parameter.", views, rootRank);
        views.forEach(
                (name, view) -> {
                    Tensor tensor = tensors.get(name);
                    if (tensor != null) {
                        TensorMemory.write(tensor, view);
                    }
                });
    }
}

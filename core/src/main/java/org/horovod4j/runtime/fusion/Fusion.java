package org.horovod4j.runtime.fusion;

import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.runtime.message.CollectiveKind;
import org.horovod4j.runtime.message.Request;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/// Forms batches: operations that can run as one collective.
///
/// A batch begins with the first operation that has no batch yet. Later operations with the same
/// `FusionKey` are added while the batch stays under the threshold. Other operations are skipped,
/// so that a float16 tensor between float32 tensors does not split their batch. The batch ends when
/// it and the skipped operations together exceed the threshold: otherwise operations that are ready
/// early would wait for late ones.
///
/// @param threshold the maximum bytes of a batch; a larger tensor runs alone, and with 0 every
///     tensor does
/// @param deviceThreshold the same for tensors on a device
/// @param groupFusion whether a group may be fused with other tensors; if not, only members of one
///     group are fused
public record Fusion(long threshold, long deviceThreshold, boolean groupFusion) {
    /// An operation to be fused.
    ///
    /// @param request its request
    /// @param byteSize its bytes in a batch
    /// @param segment operations of different segments must not share a batch
    /// @param ranks the number of ranks that contribute data
    public record Item(Request request, long byteSize, long segment, int ranks) {}

    /// Forms batches. Each batch is a list of positions in `items`.
    public List<List<Integer>> batches(List<Item> items) {
        boolean[] taken = new boolean[items.size()];
        int[] keyNumbers = keyNumbers(items);
        List<List<Integer>> batches = new ArrayList<>();
        for (int first = 0; first < taken.length; first++) {
            if (!taken[first]) {
                batches.add(batch(items, keyNumbers, first, taken));
            }
        }
        return batches;
    }

    /// Gives each item the number of its key. Items with equal numbers can be fused.
    private int[] keyNumbers(List<Item> items) {
        Map<FusionKey, Integer> numbers = new HashMap<>();
        return items.stream()
                .mapToInt(item -> numbers.computeIfAbsent(fusionKey(item), _ -> numbers.size()))
                .toArray();
    }

    private List<Integer> batch(List<Item> items, int[] keyNumbers, int first, boolean[] taken) {
        List<Integer> batch = new ArrayList<>();
        batch.add(first);
        Item firstItem = items.get(first);
        long limit = firstItem.request.device().isHost() ? threshold : deviceThreshold;
        if (limit == 0 || !firstItem.request.collectiveKind().isFusible()) {
            return batch;
        }
        long bytes = firstItem.byteSize;
        long skippedBytes = 0;
        for (int i = first + 1; i < taken.length && bytes + skippedBytes <= limit; i++) {
            Item item = items.get(i);
            if (taken[i]) {
                continue;
            }
            if (bytes + item.byteSize <= limit && keyNumbers[i] == keyNumbers[first]) {
                batch.add(i);
                taken[i] = true;
                bytes += item.byteSize;
            } else {
                skippedBytes += item.byteSize;
            }
        }
        return batch;
    }

    private FusionKey fusionKey(Item item) {
        Request request = item.request;
        String group = groupFusion ? "" : request.group();
        String ungroupedName = groupFusion || !group.isEmpty() ? "" : request.name();
        return new FusionKey(
                request.collectiveKind(),
                request.dataType(),
                request.op(),
                request.scale(),
                request.shared(),
                request.device().kind(),
                request.wireType(),
                group,
                ungroupedName,
                item.segment,
                item.ranks);
    }

    /// What the members of a batch have in common.
    ///
    /// @param group the group if only members of one group may be fused, else empty
    /// @param ungroupedName the name of a tensor that runs alone because it has no group, else
    ///     empty
    private record FusionKey(
            CollectiveKind collectiveKind,
            DataType dataType,
            ReduceOp op,
            Scale scale,
            boolean shared,
            Device.Kind deviceKind,
            DataType wireType,
            String group,
            String ungroupedName,
            long segment,
            int ranks) {}
}

package org.horovod4j.runtime.fusion;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.runtime.message.CollectiveKind;
import org.horovod4j.runtime.message.Request;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/// Forms batches of operations that can run as one.
///
/// A batch takes the first operation that is left, and later ones like it while they fit under the
/// threshold. One of another kind may be passed over, so that a float16 tensor between float32 ones
/// does not break their batch; but only while batch and passed-over ones together stay under the
/// threshold, or what is ready early would wait for long behind what is ready late.
///
/// @param threshold bytes of a batch; a larger tensor travels alone, and 0 lets all travel alone
/// @param groups whether groups may be joined with other tensors; if not, only members of one group
///     travel together
public record Fusion(long threshold, boolean groups) {
    /// An operation to be batched.
    ///
    /// @param request what it is
    /// @param byteSize what it takes in a batch
    /// @param segment operations of different segments must not share a batch
    /// @param ranks how many ranks bring something, which decides what an average divides by
    public record Item(Request request, long byteSize, long segment, int ranks) {}

    /// The items' positions, batch by batch.
    public List<List<Integer>> batches(List<Item> items) {
        boolean[] taken = new boolean[items.size()];
        int[] likeness = fusionKey(items);
        List<List<Integer>> batches = new ArrayList<>();
        for (int first = 0; first < taken.length; first++) {
            if (!taken[first]) {
                batches.add(batch(items, likeness, first, taken));
            }
        }
        return batches;
    }

    /// A number for each item, the same for those that can travel together.
    private int[] fusionKey(List<Item> items) {
        Map<FusionKey, Integer> numbers = new HashMap<>();
        return items.stream()
                .mapToInt(item -> numbers.computeIfAbsent(fusionKey(item), _ -> numbers.size()))
                .toArray();
    }

    private List<Integer> batch(List<Item> items, int[] likeness, int first, boolean[] taken) {
        List<Integer> batch = new ArrayList<>();
        batch.add(first);
        Item head = items.get(first);
        if (threshold == 0 || !head.request.collectiveKind().isFusible()) {
            return batch;
        }
        long bytes = head.byteSize;
        long passedOver = 0;
        for (int i = first + 1; i < taken.length && bytes + passedOver <= threshold; i++) {
            Item item = items.get(i);
            if (taken[i]) {
                continue;
            }
            if (bytes + item.byteSize <= threshold && likeness[i] == likeness[first]) {
                batch.add(i);
                taken[i] = true;
                bytes += item.byteSize;
            } else {
                passedOver += item.byteSize;
            }
        }
        return batch;
    }

    private FusionKey fusionKey(Item item) {
        Request request = item.request;
        String group = groups ? "" : request.group();
        String lone = groups || !group.isEmpty() ? "" : request.name();
        return new FusionKey(
                request.collectiveKind(),
                request.dataType(),
                request.op(),
                request.scale(),
                request.shared(),
                group,
                lone,
                item.segment,
                item.ranks);
    }

    /// What the members of a batch have in common.
    ///
    /// @param ungroupedName the name of a tensor that travels alone for want of a group, else empty
    private record FusionKey(
            CollectiveKind collectiveKind,
            DataType dataType,
            ReduceOp op,
            Scale scale,
            boolean shared,
            String group,
            String ungroupedName,
            long segment,
            int ranks) {}
}

package org.horovod4j.optim;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntToLongFunction;

/// The groups of parameters that are launched together, by position. Local parameters are in no
/// group.
public final class LaunchGroups {
    /// The size from which a bucket of gradients on a device is launched. A step of a large network then
    /// has some ten launches, which overlap with backward; only the last one does not, and is small.
    private static final long BUCKET_BYTES = 8L << 20;

    /// Parameters that are reduced together.
    ///
    /// @param name of its collective
    /// @param members positions of parameters
    public record Group(String name, List<Integer> members) {}

    private final List<Group> groups;
    private final int[] groupOf;

    private LaunchGroups(List<Group> groups, int parameters) {
        this.groups = List.copyOf(groups);
        this.groupOf = new int[parameters];
        Arrays.fill(groupOf, -1);
        for (int i = 0; i < groups.size(); i++) {
            for (int member : groups.get(i).members) {
                groupOf[member] = i;
            }
        }
    }

    /// The groups of parameters with these names, by the settings.
    ///
    /// @throws IllegalArgumentException when a name is empty or not unique, or the settings name a
    ///     parameter that does not exist
    public static LaunchGroups of(List<String> names, GradientSettings settings) {
        return of(names, settings, _ -> 0);
    }

    /// The same for gradients that may be on a device. Without groups in the settings, those that backward
    /// computes one after the other are a group.
    ///
    /// @param bytesOnDevice see [Gradients#bytesOnDevice]
    static LaunchGroups of(
            List<String> names, GradientSettings settings, IntToLongFunction bytesOnDevice) {
        Map<String, Integer> positions = positions(names);
        List<Integer> shared = new ArrayList<>();
        for (int i = 0; i < names.size(); i++) {
            if (!settings.local().test(names.get(i))) {
                shared.add(i);
            }
        }
        String prefix = settings.prefix();
        List<List<Integer>> several =
                switch (settings.gradientGroups()) {
                    case GradientGroups.None() -> buckets(shared, bytesOnDevice);
                    case GradientGroups.Count(int count) -> chunks(shared, count);
                    case GradientGroups.Named(List<List<String>> named) ->
                            named.stream().map(group -> find(group, positions, settings)).toList();
                };
        List<Group> groups = new ArrayList<>();
        for (List<Integer> members : several) {
            shared.removeAll(members);
            groups.add(new Group(prefix + ".group" + groups.size(), members));
        }
        for (int alone : shared) {
            groups.add(new Group(prefix + "." + names.get(alone), List.of(alone)));
        }
        return new LaunchGroups(groups, names.size());
    }

    private static Map<String, Integer> positions(List<String> names) {
        Map<String, Integer> positions = new HashMap<>();
        for (int i = 0; i < names.size(); i++) {
            String name = names.get(i);
            if (name.isEmpty()) {
                throw new IllegalArgumentException(
                        "parameter %d has no name; ranks match gradients by name".formatted(i));
            }
            if (positions.putIfAbsent(name, i) != null) {
                throw new IllegalArgumentException(
                        """
                        two parameters have the name '%s'
                        Give each parameter its own name: ranks match gradients by name."""
                                .formatted(name));
            }
        }
        return positions;
    }

    /// In the order of backward: from the last parameter to the first.
    private static List<List<Integer>> buckets(
            List<Integer> parameters, IntToLongFunction bytesOnDevice) {
        List<List<Integer>> buckets = new ArrayList<>();
        List<Integer> bucket = new ArrayList<>();
        long bytes = 0;
        for (int parameter : parameters.reversed()) {
            long size = bytesOnDevice.applyAsLong(parameter);
            if (size == 0) {
                continue; // in main memory, where a launch costs next to nothing
            }
            bucket.add(parameter);
            bytes += size;
            if (bytes >= BUCKET_BYTES) {
                buckets.add(List.copyOf(bucket));
                bucket.clear();
                bytes = 0;
            }
        }
        if (!bucket.isEmpty()) {
            buckets.add(List.copyOf(bucket));
        }
        return buckets;
    }

    /// Sizes differ by one at most; no group is empty.
    private static List<List<Integer>> chunks(List<Integer> parameters, int count) {
        List<List<Integer>> chunks = new ArrayList<>();
        int from = 0;
        for (int left = Math.min(count, parameters.size()); left > 0; left--) {
            int to = from + Math.ceilDiv(parameters.size() - from, left);
            chunks.add(List.copyOf(parameters.subList(from, to)));
            from = to;
        }
        return chunks;
    }

    private static List<Integer> find(
            List<String> group, Map<String, Integer> positions, GradientSettings settings) {
        List<Integer> members = new ArrayList<>();
        for (String name : group) {
            Integer position = positions.get(name);
            if (position == null) {
                throw new IllegalArgumentException(
                        "a group names parameter '%s', but the parameters are %s"
                                .formatted(name, positions.keySet().stream().sorted().toList()));
            }
            if (settings.local().test(name)) {
                throw new IllegalArgumentException(
                        "parameter '%s' is local, so it cannot be in a group".formatted(name));
            }
            members.add(position);
        }
        return members;
    }

    /// All groups. A parameter that is in no group of the settings has a group of its own.
    public List<Group> all() {
        return groups;
    }

    /// Whether a parameter is not reduced.
    public boolean isLocal(int parameter) {
        return groupOf[parameter] < 0;
    }

    /// The group of a parameter that is not local.
    Group of(int parameter) {
        return groups.get(groupOf[parameter]);
    }
}

package org.horovod4j.optim;

import java.util.HashSet;
import java.util.List;
import java.util.Set;

/// Gradients that are reduced together: a group is launched when the gradients of all its members are
/// ready, as one operation.
///
/// Small gradients are fused without groups. A group makes the fusion the same in every run, whatever
/// the timing.
public sealed interface GradientGroups {
    /// Each gradient is launched as soon as it is ready.
    record None() implements GradientGroups {}

    /// This number of groups of consecutive parameters, with sizes that differ by one at most.
    record Count(int groups) implements GradientGroups {
        public Count {
            if (groups < 1) {
                throw new IllegalArgumentException(
                        "the number of groups is at least 1, not " + groups);
            }
        }
    }

    /// These groups of parameter names; each other parameter is on its own.
    record Named(List<List<String>> groups) implements GradientGroups {
        public Named {
            groups = groups.stream().map(List::copyOf).toList();
            Set<String> seen = new HashSet<>();
            for (List<String> group : groups) {
                if (group.isEmpty()) {
                    throw new IllegalArgumentException("a group has at least one parameter");
                }
                for (String name : group) {
                    if (!seen.add(name)) {
                        throw new IllegalArgumentException(
                                "parameter '%s' is in groups twice; use it once".formatted(name));
                    }
                }
            }
        }
    }
}

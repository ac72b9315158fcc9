package org.horovod4j.optim;

import java.util.HashSet;
import java.util.List;
import java.util.Set;

/// Which gradients travel together: a group is launched when the gradients of all its members are
/// ready, and nothing comes between them.
///
/// Small gradients are fused without being asked to. Groups are for those whose fusion should
/// be the same in every run, however fast each of them comes.
public sealed interface GradientGroups {
    /// Each gradient travels as soon as it is ready.
    record None() implements GradientGroups {}

    /// As many groups of neighbours, as even as possible.
    record Count(int groups) implements GradientGroups {
        public Count {
            if (groups < 1) {
                throw new IllegalArgumentException(
                        "the number of groups is at least 1, not " + groups);
            }
        }
    }

    /// These groups of parameter names; all other parameters travel alone.
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
                                "parameter '%s' is in groups twice; name it once".formatted(name));
                    }
                }
            }
        }
    }
}

package org.horovod4j.runtime.autotune;

import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

/// Where the autotuner may look: the shape of the world, which a result holds for, and the free
/// knobs.
///
/// @param ranks how many there are
/// @param hosts how many they run on
/// @param free the knobs that may be turned, in their order; the others keep their default
public record SearchSpace(int ranks, int hosts, Set<Knob> free) {
    /// Knobs of the network, idle inside a host.
    private static final Set<Knob> BETWEEN_HOSTS = EnumSet.of(Knob.RING_BYTES, Knob.STREAMS);

    public SearchSpace {
        EnumSet<Knob> ordered = EnumSet.noneOf(Knob.class);
        ordered.addAll(free);
        free = Collections.unmodifiableSet(ordered);
    }

    /// All knobs that have an effect in a world of this shape, without those the user has fixed.
    public static SearchSpace of(int ranks, int hosts, Set<Knob> fixed) {
        EnumSet<Knob> free = EnumSet.allOf(Knob.class);
        free.removeAll(fixed);
        if (hosts == 1) {
            free.removeAll(BETWEEN_HOSTS);
        }
        return new SearchSpace(ranks, hosts, ranks == 1 ? Set.of() : free);
    }
}

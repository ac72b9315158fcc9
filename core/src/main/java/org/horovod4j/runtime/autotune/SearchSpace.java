package org.horovod4j.runtime.autotune;

import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

/// What the autotuner may change, and the size of the job, for which a result is valid.
///
/// @param ranks the number of ranks
/// @param hosts the number of hosts
/// @param free the knobs that may be changed, in their order; the others keep their default
public record SearchSpace(int ranks, int hosts, Set<Knob> free) {
    /// Knobs of the network, without effect inside a host.
    private static final Set<Knob> BETWEEN_HOSTS = EnumSet.of(Knob.RING_BYTES, Knob.STREAMS);

    public SearchSpace {
        EnumSet<Knob> ordered = EnumSet.noneOf(Knob.class);
        ordered.addAll(free);
        free = Collections.unmodifiableSet(ordered);
    }

    /// All knobs that have an effect in a job of this size, without those that the user has fixed.
    public static SearchSpace of(int ranks, int hosts, Set<Knob> fixed) {
        EnumSet<Knob> free = EnumSet.allOf(Knob.class);
        free.removeAll(fixed);
        if (hosts == 1) {
            free.removeAll(BETWEEN_HOSTS);
        }
        return new SearchSpace(ranks, hosts, ranks == 1 ? Set.of() : free);
    }
}

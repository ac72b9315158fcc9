package org.horovod4j.elastic.registry;

import org.horovod4j.Membership;

/// A membership with what the elastic protocol needs, which programs do not see.
public interface GenerationMembership extends Membership {
    /// Whether one rank sends its state to all others before they train together: decided once, for
    /// all ranks of the generation.
    boolean sync();

    /// The newest change of hosts that this generation includes: the same on all its ranks.
    long hostsVersion();

    /// The newest change of hosts that this process knows. If it is above [#hostsVersion], the
    /// generation is out of date. Ranks may learn of a change at different moments.
    long latestHostsVersion();

    /// Records that this process has the state that the ranks of this generation train with. Before
    /// that it has the state of an earlier generation, or none, and the launcher never continues
    /// training from it.
    void stateSynced();
}

package org.horovod4j;

/// How a process belongs to its job at present: to one *generation* of it, a world of certain
/// processes.
///
/// An elastic job has many, one after the other, and a process may have another rank in each. Any
/// other job has one, and a new one whenever its processes call [Hvd#init] again.
public interface Membership {
    /// The number of the generation, which grows.
    int generation();

    /// Whether workers may come and go.
    boolean isElastic();

    /// Whether one rank's state is to be sent to all others before they go on together: decided
    /// once, for all ranks of the generation.
    boolean sync();

    /// The newest change of hosts that this generation takes into account: the same on all its
    /// ranks.
    long hostsVersion();

    /// The newest change of hosts that this process has heard of. When it is above [#hostsVersion], the
    /// generation is out of date; ranks may hear of it at different moments.
    long latestHostsVersion();

    /// This process now has the state that the ranks of this generation train with, which
    /// [org.horovod4j.elastic.Elastic#run] says. Until then it has the state of an earlier one, or
    /// none that counts, and the launcher never lets training go on from that.
    void stateSynced();
}

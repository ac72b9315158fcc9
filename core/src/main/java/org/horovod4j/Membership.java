package org.horovod4j;

/// The *generation* of a job that a process is in.
///
/// An elastic job has one generation after the other, each with its own ranks. A process may have
/// another rank in each. Any other job has one generation, and a new one each time its processes
/// call [Hvd#init] again.
public interface Membership {
    /// The number of the generation. It grows.
    int generation();

    /// Whether workers may join and leave while the job runs.
    boolean isElastic();
}

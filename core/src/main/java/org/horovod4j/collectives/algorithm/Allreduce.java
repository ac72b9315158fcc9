package org.horovod4j.collectives.algorithm;

/// Reduces an array over the members of a group. All members end with the same bits.
public interface Allreduce {
    void run(LinkGroup group, Operands operands);
}

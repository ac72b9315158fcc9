package org.horovod4j.spi;

/// Performs collectives on tensors in main memory, by a library such as MPI.
///
/// A collective returns when its outputs are complete. If it waits for other ranks, it either calls
/// [HostExchange#check] meanwhile, every few milliseconds, or ends with an exception when another
/// thread calls [#abort].
///
/// A tensor may be in the Java heap, where native functions cannot reach it. [FusedTensors#pack] copies
/// from any memory.
public interface HostBackend extends Backend {
    /// Does nothing: the thread that calls a collective gets its failures.
    @Override
    default void check() {}
}

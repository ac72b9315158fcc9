package org.horovod4j.runtime.timeline;

/// The rank that writes a trace.
///
/// @param clockOffsetNanos to be added to this rank's [System#nanoTime] to get that of rank 0: see
///     [ClockOffset]; 0 on the host of rank 0
public record TraceOwner(int rank, String host, long clockOffsetNanos) {}

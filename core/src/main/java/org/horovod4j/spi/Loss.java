package org.horovod4j.spi;

/// The news that a rank is gone.
///
/// @param rank the rank, or -1 for the launcher
/// @param host where it ran
/// @param reason what is known: "killed by signal 9 (SIGKILL)", "silent for 10 s", …
/// @param orderly whether it called `shutdown` rather than failed
/// @param completedOperations how many operations it had completed: these end well elsewhere too;
///     0 when nothing is known of them
public record Loss(
        int rank, String host, String reason, boolean orderly, long completedOperations) {}

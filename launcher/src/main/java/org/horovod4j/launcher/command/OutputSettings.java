package org.horovod4j.launcher.command;

import org.jspecify.annotations.Nullable;

import java.nio.file.Path;

/// The output of a job.
///
/// @param verbose whether the launcher prints each of its steps
/// @param folder where the output of each rank is also written; null for nowhere
/// @param timestamps whether each line of output has a timestamp
public record OutputSettings(boolean verbose, @Nullable Path folder, boolean timestamps) {}

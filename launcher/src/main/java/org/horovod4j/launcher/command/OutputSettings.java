package org.horovod4j.launcher.command;

import org.jspecify.annotations.Nullable;

import java.nio.file.Path;

/// What is told about a job, and where.
///
/// @param verbose whether the launcher tells each of its steps
/// @param folder where the output of each rank goes too; null for nowhere
/// @param timestamps whether each line of output carries the time
public record OutputSettings(boolean verbose, @Nullable Path folder, boolean timestamps) {}

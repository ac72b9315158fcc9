package org.horovod4j.launcher.command;

import org.jspecify.annotations.Nullable;

import java.nio.file.Path;
import java.util.List;

/// How remote hosts are set up for the program.
///
/// @param java the `java` to run there; null for the same path as on this machine
/// @param copies files and folders that each host gets a copy of, such as the jars of the
///     application; their paths in the command line are replaced by those of the copies
public record RemoteSetup(@Nullable String java, List<Path> copies) {
    public RemoteSetup {
        copies = List.copyOf(copies);
    }
}

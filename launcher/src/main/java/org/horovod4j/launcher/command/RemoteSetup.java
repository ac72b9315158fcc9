package org.horovod4j.launcher.command;

import org.jspecify.annotations.Nullable;

import java.nio.file.Path;
import java.util.List;

/// What other hosts need before they can run the program.
///
/// @param java the `java` to run there; null for the same path as here
/// @param copies files and folders, such as the jars of the application, that each host gets a copy
///     of; in the command line their paths become those of the copies
public record RemoteSetup(@Nullable String java, List<Path> copies) {
    public RemoteSetup {
        copies = List.copyOf(copies);
    }
}

package org.horovod4j.launcher.remote;

import org.jspecify.annotations.Nullable;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/// The settings of all remote hosts of a job.
///
/// @param jobVariable the variable and value, in the form `NAME=value`, that mark its processes
/// @param heartbeatTimeout how long a host may be silent
/// @param startTimeout how long the setup of a host may take
/// @param folder where its processes run: the launcher's working folder
/// @param java the `java` to use there; null for the launcher's own path or the one on the `PATH`
/// @param copies files and folders that are copied to each host
/// @param environment of the launcher
public record RemoteHostSettings(
        String jobVariable,
        Duration heartbeatTimeout,
        Duration startTimeout,
        Path folder,
        @Nullable String java,
        List<Path> copies,
        Map<String, String> environment) {
    public RemoteHostSettings {
        copies = List.copyOf(copies);
        environment = Map.copyOf(environment);
    }
}

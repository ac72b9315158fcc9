package org.horovod4j.launcher.remote;

import org.jspecify.annotations.Nullable;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/// What every host of a job is told and given.
///
/// @param jobVariable the variable and value, in the form `NAME=value`, that its processes are known by
/// @param heartbeatTimeout how long a host may be silent
/// @param startTimeout how long a host may take until it is ready
/// @param folder where its processes run: where the launcher does
/// @param java the `java` to use there; null for the launcher's own path or the one on the `PATH`
/// @param copies files and folders that each host gets a copy of
/// @param environment the launcher's own
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

package org.horovod4j.launcher.command;

import org.horovod4j.launcher.yaml.YamlNode;

import java.util.Locale;

/// What Horovod calls the two ways to start processes.
enum ControllerName {
    /// Ours takes the place of Gloo's.
    GLOO,
    MPI;

    /// @throws org.horovod4j.ConfigurationException when it is neither
    static ControllerName of(YamlNode node) {
        return switch (node.asText().strip().toLowerCase(Locale.ROOT)) {
            case "gloo" -> GLOO;
            case "mpi" -> MPI;
            default ->
                    throw node.location()
                            .error(
                                    "there is no controller '%s'. Give gloo, for horovodrun's own, or mpi."
                                            .formatted(node.asText()));
        };
    }
}

package org.horovod4j.network;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/// Tells machines apart, whatever their names are. A container is a machine of its own.
///
/// @param kernel changes with each boot
/// @param processes the namespace of process ids
/// @param network the namespace of network interfaces, with its own loopback
public record MachineIdentity(String kernel, String processes, String network) {
    private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");
    private static final Path NAMESPACES = Path.of("/proc/self/ns");

    /// The identity of this machine. Empty if the system does not tell it, as all but Linux.
    public static Optional<MachineIdentity> find() {
        try {
            return Optional.of(
                    new MachineIdentity(
                            Files.readString(BOOT_ID).strip(),
                            Files.readSymbolicLink(NAMESPACES.resolve("pid")).toString(),
                            Files.readSymbolicLink(NAMESPACES.resolve("net")).toString()));
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /// The same for processes that see each other in `/proc`.
    public String processSpace() {
        return kernel + " " + processes;
    }

    /// The same for processes that also reach each other by loopback: those of one machine.
    public String key() {
        return processSpace() + " " + network;
    }
}

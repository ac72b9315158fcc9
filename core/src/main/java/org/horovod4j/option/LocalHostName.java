package org.horovod4j.option;

import org.horovod4j.ConfigurationException;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;

/// The name of this machine, if no option sets it.
///
/// Ranks only compare names to find out which of them share a host. A name need not resolve to an
/// address. So a machine whose name no resolver knows, as in many containers, uses the name in its
/// kernel.
public final class LocalHostName {
    private static final Path KERNEL = Path.of("/proc/sys/kernel/hostname"); // of Linux

    private LocalHostName() {}

    /// Asks a resolver, then the kernel.
    ///
    /// @throws ConfigurationException when neither has a name
    public static String find() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            return read(KERNEL, e);
        }
    }

    /// The name in a file.
    ///
    /// @param cause why there is no other
    static String read(Path file, UnknownHostException cause) {
        try {
            String name = Files.readString(file).strip();
            if (!name.isEmpty()) {
                return name;
            }
        } catch (IOException e) {
            cause.addSuppressed(e);
        }
        throw new ConfigurationException(
                "the name of this machine cannot be found: set %s".formatted(Options.HOSTNAME),
                cause);
    }
}

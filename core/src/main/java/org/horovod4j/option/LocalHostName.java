package org.horovod4j.option;

import org.horovod4j.ConfigurationException;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;

/// What this machine is called, where nobody has told.
///
/// Only ranks hear the name, to find out who shares a host; it need not lead to an address. So a
/// machine whose name no resolver knows, as in many containers, is called what its kernel calls it.
public final class LocalHostName {
    private static final Path KERNEL = Path.of("/proc/sys/kernel/hostname"); // of Linux

    private LocalHostName() {}

    /// Asks a resolver, and then the kernel.
    ///
    /// @throws ConfigurationException when neither knows
    public static String find() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            return read(KERNEL, e);
        }
    }

    /// The name that stands in a file.
    ///
    /// @param why there is no other
    static String read(Path file, UnknownHostException why) {
        try {
            String name = Files.readString(file).strip();
            if (!name.isEmpty()) {
                return name;
            }
        } catch (IOException e) {
            why.addSuppressed(e);
        }
        throw new ConfigurationException(
                "this machine does not know its own name: set %s".formatted(Options.HOSTNAME), why);
    }
}

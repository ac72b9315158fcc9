package org.horovod4j.launcher.plan;

import org.horovod4j.ConfigurationException;

import java.nio.file.Files;
import java.nio.file.Path;

/// The private key file for ssh.
public final class IdentityFile {
    private static final String HOME = "~/";

    private IdentityFile() {}

    /// An existing file. A leading `~/` means the home folder, as for ssh.
    ///
    /// @param origin where the name is from, for errors
    /// @throws ConfigurationException when it cannot be read
    public static Path of(String text, String origin) {
        Path file =
                text.startsWith(HOME)
                        ? Path.of(System.getProperty("user.home"), text.substring(HOME.length()))
                        : Path.of(text);
        if (!Files.isRegularFile(file) || !Files.isReadable(file)) {
            throw new ConfigurationException(
                    "%s: there is no readable file '%s'. Name the private key, as in ~/.ssh/id_ed25519."
                            .formatted(origin, text));
        }
        return file;
    }
}

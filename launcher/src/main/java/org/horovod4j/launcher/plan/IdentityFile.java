package org.horovod4j.launcher.plan;

import org.horovod4j.ConfigurationException;

import java.nio.file.Files;
import java.nio.file.Path;

/// The private key for ssh, as a user names it.
public final class IdentityFile {
    private static final String HOME = "~/";

    private IdentityFile() {}

    /// The file, which is there; a `~/` in front means the home folder, as for ssh itself.
    ///
    /// @param origin who named it, for errors
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

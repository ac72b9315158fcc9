package org.horovod4j.launcher.plan;

import org.horovod4j.ConfigurationException;
import org.jspecify.annotations.Nullable;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/// How to log in to a host. Values that are null are left to ssh and its configuration.
public record Login(@Nullable String user, @Nullable Integer port, @Nullable Path identityFile) {
    /// All values are left to ssh.
    public static final Login DEFAULT = new Login(null, null, null);

    static Login of(@Nullable String user) {
        return user == null ? DEFAULT : new Login(user, null, null);
    }

    /// The private key file for ssh. A leading `~/` means the home folder, as for ssh.
    ///
    /// @param origin where the name is from, for errors
    /// @throws ConfigurationException when it cannot be read
    public static Path findIdentityFile(String text, String origin) {
        Path file =
                text.startsWith("~/")
                        ? Path.of(System.getProperty("user.home"), text.substring(2))
                        : Path.of(text);
        if (!Files.isRegularFile(file) || !Files.isReadable(file)) {
            throw new ConfigurationException(
                    "%s: there is no readable file '%s'. Name the private key, as in ~/.ssh/id_ed25519."
                            .formatted(origin, text));
        }
        return file;
    }

    /// This login, with missing values taken from `other`.
    Login orElse(Login other) {
        return new Login(
                user == null ? other.user : user,
                port == null ? other.port : port,
                identityFile == null ? other.identityFile : identityFile);
    }

    /// The options of ssh for this login.
    public List<String> sshOptions() {
        List<String> options = new ArrayList<>();
        if (port != null) {
            options.addAll(List.of("-p", port.toString()));
        }
        if (identityFile != null) {
            options.addAll(List.of("-i", identityFile.toString()));
        }
        if (user != null) {
            options.addAll(List.of("-l", user));
        }
        return options;
    }
}

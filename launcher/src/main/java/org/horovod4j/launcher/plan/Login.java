package org.horovod4j.launcher.plan;

import org.jspecify.annotations.Nullable;

import java.nio.file.Path;

/// How to log in to a host. Values that are null are left to ssh and its configuration.
public record Login(@Nullable String user, @Nullable Integer port, @Nullable Path identityFile) {
    /// All values are left to ssh.
    public static final Login DEFAULT = new Login(null, null, null);

    static Login of(@Nullable String user) {
        return user == null ? DEFAULT : new Login(user, null, null);
    }

    /// This login, with missing values taken from `other`.
    Login orElse(Login other) {
        return new Login(
                user == null ? other.user : user,
                port == null ? other.port : port,
                identityFile == null ? other.identityFile : identityFile);
    }
}

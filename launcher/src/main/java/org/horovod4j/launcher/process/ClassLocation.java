package org.horovod4j.launcher.process;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Path;

/// Where the JVM has a class from.
public final class ClassLocation {
    private ClassLocation() {}

    /// The jar or folder that contains a class of ours.
    public static Path of(Class<?> type) throws IOException {
        try {
            return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
        } catch (URISyntaxException e) {
            throw new IOException("the classes of the launcher are in no file: " + e.getInput(), e);
        }
    }
}

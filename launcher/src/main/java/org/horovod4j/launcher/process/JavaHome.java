package org.horovod4j.launcher.process;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// A Java installation.
public record JavaHome(Path folder) {
    /// What Horovod4J is compiled for.
    public static final int REQUIRED_VERSION = 25;

    private static final Pattern VERSION = Pattern.compile("(?m)^JAVA_VERSION=\"(\\d+)");

    /// The Java that runs the launcher. It is new enough, or the launcher would not run.
    public static JavaHome current() {
        return new JavaHome(Path.of(System.getProperty("java.home")));
    }

    /// Its program `java`.
    public Path java() {
        return folder.resolve("bin", "java");
    }

    /// What the bare word `java` means: the one on the path if it is new enough, else the one of
    /// this installation. So a machine whose default is older needs no setting.
    String selectJava(Optional<Path> onPath) {
        return onPath.filter(java -> of(java).isNewEnough())
                .map(_ -> "java")
                .orElse(java().toString());
    }

    private static JavaHome of(Path java) {
        try {
            return new JavaHome(java.toRealPath().resolve("../..").normalize());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /// Reads the file `release`, since running `java -version` takes longer than everything else
    /// here.
    private boolean isNewEnough() {
        Path release = folder.resolve("release");
        if (!Files.isReadable(release)) {
            return false;
        }
        try {
            Matcher version = VERSION.matcher(Files.readString(release));
            return version.find() && Integer.parseInt(version.group(1)) >= REQUIRED_VERSION;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

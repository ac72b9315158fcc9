package org.horovod4j.launcher.command;

/// The version of Horovod4J.
public final class Version {
    private Version() {}

    /// The version from the jar's manifest.
    public static String current() {
        String version = Version.class.getPackage().getImplementationVersion();
        return version == null ? "built from source" : version;
    }
}

package org.horovod4j.launcher.command;

/// The version of Horovod4J.
public final class Version {
    private Version() {}

    /// As the jar's manifest has it; without a jar there is none.
    public static String current() {
        String version = Version.class.getPackage().getImplementationVersion();
        return version == null ? "built from source" : version;
    }
}

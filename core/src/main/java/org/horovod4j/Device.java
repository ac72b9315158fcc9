package org.horovod4j;

/// Where a tensor's bytes live.
public record Device(Kind kind, int index) {
    /// The memory of the host, which every device of it can reach.
    public static final Device HOST = new Device(Kind.HOST, 0);

    /// The kinds of memory that Horovod4J can carry.
    public enum Kind {
        HOST
    }

    public Device {
        if (index < 0) {
            throw new IllegalArgumentException("a device's index is not negative: " + index);
        }
    }

    @Override
    public String toString() {
        return kind == Kind.HOST
                ? "host"
                : kind.name().toLowerCase(java.util.Locale.ROOT) + ":" + index;
    }
}

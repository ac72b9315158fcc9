package org.horovod4j;

/// Where the memory of a tensor is.
public record Device(Kind kind, int index) {
    /// The main memory of the host.
    public static final Device HOST = new Device(Kind.HOST, 0);

    /// The kinds of memory that Horovod4J supports.
    public enum Kind {
        /// Main memory.
        HOST
    }

    public Device {
        if (index < 0) {
            throw new IllegalArgumentException("device index %d is negative".formatted(index));
        }
    }

    @Override
    public String toString() {
        return kind == Kind.HOST
                ? "host"
                : kind.name().toLowerCase(java.util.Locale.ROOT) + ":" + index;
    }
}

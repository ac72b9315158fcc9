package org.horovod4j;

import java.util.Locale;

/// Where the memory of a tensor is.
///
/// @param kind main memory, or a kind of accelerator
/// @param index the number of the device among those of its kind that this process sees
public record Device(Kind kind, int index) {
    /// The main memory of the host.
    public static final Device HOST = new Device(Kind.HOST, 0);

    /// The kinds of memory that Horovod4J supports.
    public enum Kind {
        /// Main memory.
        HOST,
        /// The memory of an NVIDIA GPU. Its collectives are in `horovod4j-cuda`.
        CUDA;

        /// As in `cuda`.
        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    public Device {
        if (index < 0) {
            throw new IllegalArgumentException("device index %d is negative".formatted(index));
        }
        if (kind == Kind.HOST && index > 0) {
            throw new IllegalArgumentException(
                    "a process has one host memory, there is no host memory %d".formatted(index));
        }
    }

    /// The GPU with this number, as CUDA counts them in this process.
    public static Device cuda(int index) {
        return new Device(Kind.CUDA, index);
    }

    /// Whether this is main memory.
    public boolean isHost() {
        return kind == Kind.HOST;
    }

    /// As in `host` or `cuda:0`.
    @Override
    public String toString() {
        return isHost() ? kind.toString() : kind + ":" + index;
    }
}

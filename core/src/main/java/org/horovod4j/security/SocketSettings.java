package org.horovod4j.security;

import java.io.IOException;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.nio.channels.NetworkChannel;
import java.util.Map;

/// How our sockets are set up.
///
/// Small frames leave at once, and the kernel probes an idle connection every second, so that the
/// loss of a whole host ends it after four.
///
/// @param sendBufferBytes the kernel's buffer for sending; 0 leaves it to the kernel, which adapts
///     it
/// @param receiveBufferBytes the same for receiving
public record SocketSettings(int sendBufferBytes, int receiveBufferBytes) {
    public static final SocketSettings DEFAULT = new SocketSettings(0, 0);

    private static final Map<String, Integer> KEEP_ALIVE_OPTIONS =
            Map.of("TCP_KEEPIDLE", 1, "TCP_KEEPINTERVAL", 1, "TCP_KEEPCOUNT", 3);

    public SocketSettings {
        if (sendBufferBytes < 0 || receiveBufferBytes < 0) {
            throw new IllegalArgumentException(
                    "socket buffers must be 0 bytes (the kernel's choice) or more, not %d and %d"
                            .formatted(sendBufferBytes, receiveBufferBytes));
        }
    }

    /// Applies those that `channel` has. Comes before connect or bind, or the window of the
    /// connection would not follow the size of the buffer.
    void apply(NetworkChannel channel) throws IOException {
        set(channel, StandardSocketOptions.TCP_NODELAY, true);
        set(channel, StandardSocketOptions.SO_KEEPALIVE, true);
        if (sendBufferBytes > 0) {
            set(channel, StandardSocketOptions.SO_SNDBUF, sendBufferBytes);
        }
        if (receiveBufferBytes > 0) {
            set(channel, StandardSocketOptions.SO_RCVBUF, receiveBufferBytes);
        }
        enableKeepAliveProbes(channel);
    }

    private static <T> void set(NetworkChannel channel, SocketOption<T> option, T value)
            throws IOException {
        if (channel.supportedOptions().contains(option)) {
            channel.setOption(option, value);
        }
    }

    /// The options for probes are found by name: they live in the module jdk.net, which a small
    /// runtime image may lack, and a probe less is better than no job.
    private static void enableKeepAliveProbes(NetworkChannel channel) throws IOException {
        for (SocketOption<?> option : channel.supportedOptions()) {
            Integer value = KEEP_ALIVE_OPTIONS.get(option.name());
            if (value != null && option.type() == Integer.class) {
                @SuppressWarnings("unchecked") // its type was just asked for
                SocketOption<Integer> number = (SocketOption<Integer>) option;
                channel.setOption(number, value);
            }
        }
    }
}

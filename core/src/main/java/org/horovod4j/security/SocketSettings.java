package org.horovod4j.security;

import java.io.IOException;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.nio.channels.NetworkChannel;
import java.util.Map;

/// Options of all sockets.
///
/// Small frames are sent at once (`TCP_NODELAY`). The kernel probes an idle connection every
/// second, so the loss of a whole host closes it after four seconds.
///
/// @param sendBufferBytes the kernel's send buffer; 0 lets the kernel adapt it
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

    /// Sets the options that `channel` supports. Must come before connect or bind: otherwise the
    /// connection's window does not follow the size of the buffer.
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

    /// Finds the options of probes by name: they are in the module jdk.net, which a small runtime
    /// image may lack. Missing probes are acceptable.
    private static void enableKeepAliveProbes(NetworkChannel channel) throws IOException {
        for (SocketOption<?> option : channel.supportedOptions()) {
            Integer value = KEEP_ALIVE_OPTIONS.get(option.name());
            if (value != null && option.type() == Integer.class) {
                @SuppressWarnings("unchecked") // its type was just checked
                SocketOption<Integer> number = (SocketOption<Integer>) option;
                channel.setOption(number, value);
            }
        }
    }
}

package org.horovod4j.security;

import java.io.IOException;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.nio.channels.NetworkChannel;
import java.time.Duration;
import java.util.Map;

/// Options of all sockets.
///
/// Small frames are sent at once (`TCP_NODELAY`). The kernel probes a connection that has received
/// nothing for a while, and closes it if the peer's host answers no probe. That takes a quarter
/// longer than the heartbeat timeout: the heartbeats decide first, and report the lost host.
///
/// The kernel sends no probes while it resends bytes that the peer has not acknowledged. It closes
/// such a connection after `net.ipv4.tcp_retries2` attempts, about 15 minutes by default. Java has
/// no option for that limit (`TCP_USER_TIMEOUT`).
///
/// @param sendBufferBytes the kernel's send buffer; 0 lets the kernel adapt it
/// @param receiveBufferBytes the same for receiving
/// @param heartbeatTimeout how long a peer may be silent before it is declared lost
public record SocketSettings(
        int sendBufferBytes, int receiveBufferBytes, Duration heartbeatTimeout) {
    /// For a job with the default heartbeat timeout.
    public static final SocketSettings DEFAULT = of(Duration.ofSeconds(10));

    /// The number of probes without an answer after which the kernel closes a connection. The first
    /// follows after as many seconds without data as lie between two probes.
    private static final int PROBES = 4;

    /// The most that Linux accepts.
    private static final int MAX_PROBE_SECONDS = 32_767;

    public SocketSettings {
        if (sendBufferBytes < 0 || receiveBufferBytes < 0) {
            throw new IllegalArgumentException(
                    "socket buffers must be 0 bytes (the kernel's choice) or more, not %d and %d"
                            .formatted(sendBufferBytes, receiveBufferBytes));
        }
    }

    /// Buffers of the kernel's choice.
    ///
    /// @param heartbeatTimeout how long a peer may be silent before it is declared lost
    public static SocketSettings of(Duration heartbeatTimeout) {
        return new SocketSettings(0, 0, heartbeatTimeout);
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
    private void enableKeepAliveProbes(NetworkChannel channel) throws IOException {
        Map<String, Integer> values =
                Map.of(
                        "TCP_KEEPIDLE",
                        probeSeconds(),
                        "TCP_KEEPINTERVAL",
                        probeSeconds(),
                        "TCP_KEEPCOUNT",
                        PROBES);
        for (SocketOption<?> option : channel.supportedOptions()) {
            Integer value = values.get(option.name());
            if (value != null && option.type() == Integer.class) {
                @SuppressWarnings("unchecked") // its type was just checked
                SocketOption<Integer> number = (SocketOption<Integer>) option;
                channel.setOption(number, value);
            }
        }
    }

    /// The seconds before the first probe, and between two probes. Rounded up, so that the probes
    /// together never take less than the heartbeat timeout.
    private int probeSeconds() {
        long millis = heartbeatTimeout.toMillis() / PROBES;
        return Math.clamp(Math.ceilDiv(millis, 1000L), 1, MAX_PROBE_SECONDS);
    }
}

package org.horovod4j.launcher;

import org.horovod4j.ConfigurationException;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.net.DatagramSocket;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/// Where the ranks find the launcher: a port, and this machine's addresses.
///
/// Nobody can know from here which of them a host reaches, so its ranks get them all, and try the
/// one first through which this machine's own packets to that host leave.
///
/// @param addresses those that other hosts may reach; empty when there are no others
record MeetingPoint(int port, List<InetAddress> addresses) {
    /// Any port: nothing is sent, the kernel is only asked for a route.
    private static final int SOME_PORT = 9;

    MeetingPoint {
        addresses = List.copyOf(addresses);
    }

    /// @param interfaces the names of the network interfaces to use; none for all
    /// @throws ConfigurationException when there is no such interface
    static MeetingPoint of(int port, boolean anyRemote, Set<String> interfaces) {
        return new MeetingPoint(port, anyRemote ? reachable(interfaces) : List.of());
    }

    /// What a rank on this machine is told.
    String here() {
        return InetAddress.getLoopbackAddress().getHostAddress();
    }

    /// What the ranks on another host are told: addresses with commas between.
    String from(String host) {
        Set<InetAddress> ordered = new LinkedHashSet<>();
        InetAddress first = towards(host);
        if (addresses.contains(first)) {
            ordered.add(first);
        }
        ordered.addAll(addresses);
        return ordered.stream().map(MeetingPoint::text).collect(Collectors.joining(","));
    }

    /// The address from which packets to `host` would leave, or the wildcard if there is no route.
    private static InetAddress towards(String host) {
        try (DatagramSocket socket = new DatagramSocket()) {
            socket.connect(new InetSocketAddress(host, SOME_PORT));
            return socket.getLocalAddress();
        } catch (SocketException | UncheckedIOException | IllegalArgumentException e) {
            // A name that only ssh's configuration knows.
            System.getLogger(MeetingPoint.class.getName())
                    .log(Level.DEBUG, "No route is known to " + host, e);
            return new InetSocketAddress(SOME_PORT).getAddress();
        }
    }

    private static List<InetAddress> reachable(Set<String> names) {
        try {
            List<NetworkInterface> all =
                    Collections.list(NetworkInterface.getNetworkInterfaces()).stream()
                            .filter(each -> names.isEmpty() || names.contains(each.getName()))
                            .toList();
            List<InetAddress> addresses = new ArrayList<>();
            for (NetworkInterface each : all) {
                if (each.isUp()) {
                    each.inetAddresses().filter(MeetingPoint::isReachable).forEach(addresses::add);
                }
            }
            if (addresses.isEmpty()) {
                throw new ConfigurationException(
                        """
                        this machine has no address that other hosts could reach%s. Check \
                        --network-interfaces; it has %s."""
                                .formatted(
                                        names.isEmpty() ? "" : " on " + String.join(", ", names),
                                        NetworkInterface.networkInterfaces()
                                                .map(NetworkInterface::getName)
                                                .collect(Collectors.joining(", "))));
            }
            return addresses;
        } catch (IOException e) {
            throw new UncheckedIOException("cannot list the network interfaces", e);
        }
    }

    /// Link-local addresses mean nothing without the interface, which has another name over there.
    private static boolean isReachable(InetAddress address) {
        return !address.isLoopbackAddress()
                && !address.isLinkLocalAddress()
                && !address.isMulticastAddress();
    }

    private static String text(InetAddress address) {
        String text = address.getHostAddress();
        int scope = address instanceof Inet6Address ? text.indexOf('%') : -1;
        return scope < 0 ? text : text.substring(0, scope);
    }
}

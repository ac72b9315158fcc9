package org.horovod4j.launcher;

import org.horovod4j.network.LocalAddresses;

import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/// Where the ranks find the launcher: a port, and the addresses of this machine.
///
/// It is unknown which address a host can reach, so its ranks get all. They first try the address
/// from which this machine sends packets to that host.
///
/// @param addresses that other hosts may reach; empty when there are no other hosts
record LauncherAddress(int port, List<InetAddress> addresses) {
    /// Any port: nothing is sent, the kernel only looks up the route.
    private static final int SOME_PORT = 9;

    LauncherAddress {
        addresses = List.copyOf(addresses);
    }

    /// @param interfaces the names of the network interfaces to use; all are used if this machine
    ///     has none of them
    static LauncherAddress of(int port, boolean anyRemote, List<String> interfaces) {
        return new LauncherAddress(
                port,
                anyRemote
                        ? LocalAddresses.ofInterfacesOrAll(interfaces)
                                .reachableFromOtherHosts()
                                .addresses()
                        : List.of());
    }

    /// The address for ranks on this machine.
    String local() {
        return InetAddress.getLoopbackAddress().getHostAddress();
    }

    /// The addresses for ranks on another host, separated by commas.
    String forHost(String host) {
        Set<InetAddress> ordered = new LinkedHashSet<>();
        InetAddress first = outgoingAddress(host);
        if (addresses.contains(first)) {
            ordered.add(first);
        }
        ordered.addAll(addresses);
        return ordered.stream().map(InetAddress::getHostAddress).collect(Collectors.joining(","));
    }

    /// The address from which packets to `host` are sent, or the wildcard if there is no route.
    private static InetAddress outgoingAddress(String host) {
        try (DatagramSocket socket = new DatagramSocket()) {
            socket.connect(new InetSocketAddress(host, SOME_PORT));
            return socket.getLocalAddress();
        } catch (SocketException | UncheckedIOException | IllegalArgumentException e) {
            // A name that is known only to the configuration of ssh.
            System.getLogger(LauncherAddress.class.getName())
                    .log(Level.DEBUG, "No route is known to " + host, e);
            return new InetSocketAddress(SOME_PORT).getAddress();
        }
    }
}

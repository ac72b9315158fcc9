package org.horovod4j.transport.tcp;

import org.horovod4j.ConfigurationException;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/// Where this host might be reached.
///
/// The list is only a proposal: whether an address works is found out by dialling it. Names of
/// interfaces play no part, since they differ from host to host.
final class LocalAddresses {
    private LocalAddresses() {}

    /// All addresses of interfaces that are up, with `port`. IPv4 comes before IPv6 and loopback
    /// last; link-local ones are left out, as they mean nothing on another host.
    static List<InetSocketAddress> candidates(int port) {
        return addresses()
                .filter(address -> !address.isLinkLocalAddress() && !address.isMulticastAddress())
                .sorted(
                        Comparator.comparing(InetAddress::isLoopbackAddress)
                                .thenComparing(address -> !(address instanceof Inet4Address)))
                .map(address -> new InetSocketAddress(address, port))
                .toList();
    }

    private static Stream<InetAddress> addresses() {
        try {
            return NetworkInterface.networkInterfaces()
                    .filter(LocalAddresses::isUp)
                    .sorted(Comparator.comparingInt(NetworkInterface::getIndex))
                    .flatMap(NetworkInterface::inetAddresses)
                    .toList()
                    .stream();
        } catch (SocketException e) {
            throw new ConfigurationException(
                    """
                    listing the network interfaces of this host: %s
                    At least the loopback interface must be up."""
                            .formatted(e.getMessage()),
                    e);
        }
    }

    private static boolean isUp(NetworkInterface each) {
        try {
            return each.isUp();
        } catch (SocketException e) {
            return false; // it vanished since it was listed
        }
    }
}

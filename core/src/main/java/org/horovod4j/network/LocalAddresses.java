package org.horovod4j.network;

import org.horovod4j.ConfigurationException;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;

/// Where this machine might be reached, likeliest first: IPv4 before IPv6, loopback last.
///
/// Link-local addresses are left out, as they mean nothing on another machine.
public record LocalAddresses(List<InetAddress> addresses) {
    public LocalAddresses {
        addresses = List.copyOf(addresses);
    }

    /// The addresses of all interfaces that are up.
    public static LocalAddresses all() {
        return ofInterfaces(List.of());
    }

    /// The addresses of those of `interfaces` that this machine has: their names differ from host
    /// to host, so a list for a whole job may name some that are elsewhere.
    ///
    /// @param interfaces names such as `eth0`; with none, all interfaces count
    /// @throws ConfigurationException when this machine has none of them, or no address there
    public static LocalAddresses ofInterfaces(Collection<String> interfaces) {
        List<NetworkInterface> present = upInterfaces();
        LocalAddresses chosen =
                of(
                        present.stream()
                                .filter(
                                        each ->
                                                interfaces.isEmpty()
                                                        || interfaces.contains(each.getName()))
                                .toList());
        if (chosen.addresses.isEmpty()) {
            throw new ConfigurationException(
                    interfaces.isEmpty()
                            ? "this machine has no network address. Bring up its loopback"
                                    + " interface at least."
                            : unknown(interfaces, present));
        }
        return chosen;
    }

    /// The same with a port each.
    public List<InetSocketAddress> withPort(int port) {
        return addresses.stream().map(address -> new InetSocketAddress(address, port)).toList();
    }

    /// Those that other machines could use. Loopback leads back to whoever dials it, so it stays
    /// only where there is nothing else: then this machine must be the only one.
    public LocalAddresses reachableFromOtherHosts() {
        List<InetAddress> outward =
                addresses.stream().filter(address -> !address.isLoopbackAddress()).toList();
        return outward.isEmpty() ? this : new LocalAddresses(outward);
    }

    private static LocalAddresses of(List<NetworkInterface> interfaces) {
        return new LocalAddresses(
                interfaces.stream()
                        .flatMap(NetworkInterface::inetAddresses)
                        .filter(
                                address ->
                                        !address.isLinkLocalAddress()
                                                && !address.isMulticastAddress())
                        .map(LocalAddresses::withoutScope)
                        .sorted((one, other) -> Integer.compare(priority(one), priority(other)))
                        .toList());
    }

    private static int priority(InetAddress address) {
        return (address.isLoopbackAddress() ? 2 : 0) + (address instanceof Inet4Address ? 0 : 1);
    }

    /// The JDK names the interface with an IPv6 address, as in `fd00::2%eth0`, and another machine
    /// would look for that interface among its own.
    private static InetAddress withoutScope(InetAddress address) {
        try {
            return InetAddress.getByAddress(address.getAddress());
        } catch (UnknownHostException e) {
            throw new IllegalStateException("an address has as many bytes as an address", e);
        }
    }

    private static List<NetworkInterface> upInterfaces() {
        try {
            return NetworkInterface.networkInterfaces()
                    .filter(LocalAddresses::isUp)
                    .sorted((one, other) -> Integer.compare(one.getIndex(), other.getIndex()))
                    .toList();
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

    private static String unknown(Collection<String> wanted, List<NetworkInterface> present) {
        return """
        this machine has no network interface %s that is up and has an address. It has:
        %s
        Name one of these, or none to let all be tried."""
                .formatted(
                        wanted.stream()
                                .map(name -> "'" + name + "'")
                                .collect(Collectors.joining(" or ")),
                        present.stream()
                                .map(LocalAddresses::describe)
                                .collect(Collectors.joining("\n")));
    }

    private static String describe(NetworkInterface each) {
        String addresses =
                of(List.of(each)).addresses.stream()
                        .map(InetAddress::getHostAddress)
                        .collect(Collectors.joining(", "));
        return "  %s: %s".formatted(each.getName(), addresses.isEmpty() ? "no address" : addresses);
    }
}

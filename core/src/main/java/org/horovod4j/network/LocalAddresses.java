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

/// The addresses at which other processes may reach this machine, likeliest first: IPv4 before
/// IPv6, loopback last.
///
/// Link-local addresses are left out, as they mean nothing on another machine.
public record LocalAddresses(List<InetAddress> addresses) {
    public LocalAddresses {
        addresses = List.copyOf(addresses);
    }

    /// The address that only processes of this machine reach.
    public static LocalAddresses loopback() {
        return new LocalAddresses(List.of(InetAddress.getLoopbackAddress()));
    }

    /// The addresses of all interfaces that are up.
    public static LocalAddresses all() {
        return ofInterfaces(List.of());
    }

    /// The addresses of those of `interfaces` that this machine has. Interface names differ between
    /// hosts, so a list for a whole job may contain names of other hosts.
    ///
    /// @param interfaces names such as `eth0`; an empty list means all interfaces
    /// @throws ConfigurationException when this machine has none of them, or they have no address
    public static LocalAddresses ofInterfaces(Collection<String> interfaces) {
        List<NetworkInterface> present = upInterfaces();
        LocalAddresses chosen = of(named(interfaces, present));
        if (chosen.addresses.isEmpty()) {
            throw new ConfigurationException(
                    interfaces.isEmpty()
                            ? "this machine has no network address. Bring up at least its loopback"
                                    + " interface."
                            : unknown(interfaces, present));
        }
        return chosen;
    }

    /// Like [#ofInterfaces], but all addresses when this machine has none of `interfaces`. For the
    /// launcher: it may run on another kind of machine than the ranks, and exchanges only small
    /// messages with them.
    public static LocalAddresses ofInterfacesOrAll(Collection<String> interfaces) {
        boolean hasAny = !of(named(interfaces, upInterfaces())).addresses.isEmpty();
        return ofInterfaces(hasAny ? interfaces : List.of());
    }

    private static List<NetworkInterface> named(
            Collection<String> interfaces, List<NetworkInterface> present) {
        return present.stream()
                .filter(each -> interfaces.isEmpty() || interfaces.contains(each.getName()))
                .toList();
    }

    /// The addresses, each with a port.
    public List<InetSocketAddress> withPort(int port) {
        return addresses.stream().map(address -> new InetSocketAddress(address, port)).toList();
    }

    /// Where to listen to be reached at these addresses and at no others: the wildcard address if
    /// they are all that this machine has, so that other ones do not matter.
    public List<InetSocketAddress> bindAddresses(int port) {
        boolean wildcard =
                !addresses.stream().allMatch(InetAddress::isLoopbackAddress) && equals(all());
        return wildcard ? List.of(new InetSocketAddress(port)) : withPort(port);
    }

    /// Those that other machines can use. Loopback leads back to the machine that connects, so it
    /// stays only if there is nothing else: then the job must run on this machine alone.
    public LocalAddresses reachableFromOtherHosts() {
        List<InetAddress> external =
                addresses.stream().filter(address -> !address.isLoopbackAddress()).toList();
        return external.isEmpty() ? this : new LocalAddresses(external);
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

    /// Removes the interface from an IPv6 address, as in `fd00::2%eth0`: another machine would look
    /// for that interface among its own.
    private static InetAddress withoutScope(InetAddress address) {
        try {
            return InetAddress.getByAddress(address.getAddress());
        } catch (UnknownHostException e) {
            throw new IllegalStateException("the bytes of an address are a valid address", e);
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
            return false; // removed since it was listed
        }
    }

    private static String unknown(Collection<String> interfaces, List<NetworkInterface> present) {
        return """
        this machine has no network interface %s that is up and has an address. It has:
        %s
        Add one of these to the list: each host uses those it has. Or leave out the list, to try \
        all."""
                .formatted(
                        interfaces.stream()
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

package org.horovod4j.launcher.function;

import org.horovod4j.network.LocalAddresses;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// The addresses of the [FunctionServer], as text for a command line: `10.0.0.7:4711,…`.
public final class FunctionServerAddresses {
    private FunctionServerAddresses() {}

    /// For ranks on this machine.
    public static String local(int port) {
        return text(InetAddress.getLoopbackAddress(), port);
    }

    /// For ranks on other machines: every address of this machine that they may reach. They try
    /// all.
    ///
    /// @param interfaces the names of the network interfaces to use; all are used if this machine
    ///     has none of them
    public static String reachable(int port, List<String> interfaces) {
        return LocalAddresses.ofInterfacesOrAll(interfaces)
                .reachableFromOtherHosts()
                .addresses()
                .stream()
                .map(address -> text(address, port))
                .collect(Collectors.joining(","));
    }

    static List<InetSocketAddress> parse(String text) {
        return Stream.of(text.split(",")).map(FunctionServerAddresses::address).toList();
    }

    private static String text(InetAddress address, int port) {
        String host = address.getHostAddress();
        return address instanceof Inet6Address
                ? "[%s]:%d".formatted(host, port)
                : "%s:%d".formatted(host, port);
    }

    private static InetSocketAddress address(String text) {
        int colon = text.lastIndexOf(':');
        String host = text.substring(0, colon).replaceAll("[\\[\\]]", "");
        return new InetSocketAddress(host, Integer.parseInt(text.substring(colon + 1)));
    }
}

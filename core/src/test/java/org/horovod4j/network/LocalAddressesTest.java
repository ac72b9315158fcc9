package org.horovod4j.network;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.junit.jupiter.api.Test;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.List;

class LocalAddressesTest {
    @Test
    void allAddressesIncludeLoopbackAndItComesLast() {
        List<InetAddress> all = LocalAddresses.all().addresses();
        assertThat(all).anyMatch(InetAddress::isLoopbackAddress);
        assertThat(all.stream().map(InetAddress::isLoopbackAddress)).isSorted();
        assertThat(all).map(InetAddress::getHostAddress).noneMatch(text -> text.contains("%"));
    }

    @Test
    void aNamedInterfaceHasItsOwnAddressesOnly() throws SocketException {
        String loopback = loopback();
        assertThat(LocalAddresses.ofInterfaces(List.of("there-is-none", loopback)).addresses())
                .isNotEmpty()
                .allMatch(InetAddress::isLoopbackAddress);
        assertThat(LocalAddresses.ofInterfaces(List.of(loopback)).withPort(80))
                .allMatch(address -> address.getPort() == 80);
    }

    @Test
    void loopbackIsAdvertisedOnlyWithoutOtherAddresses() throws SocketException {
        LocalAddresses loopback = LocalAddresses.ofInterfaces(List.of(loopback()));
        assertThat(loopback.reachableFromOtherHosts()).isEqualTo(loopback);
        InetAddress outward = InetAddress.ofLiteral("192.0.2.7");
        LocalAddresses both = new LocalAddresses(List.of(outward, loopback.addresses().getFirst()));
        assertThat(both.reachableFromOtherHosts().addresses()).containsExactly(outward);
    }

    @Test
    void onlyChosenAddressesAreBound() throws SocketException {
        assertThat(LocalAddresses.all().bindAddresses(7))
                .isEqualTo(
                        LocalAddresses.all().addresses().stream()
                                        .allMatch(InetAddress::isLoopbackAddress)
                                ? LocalAddresses.all().withPort(7)
                                : List.of(new InetSocketAddress(7)));
        LocalAddresses loopback = LocalAddresses.ofInterfaces(List.of(loopback()));
        assertThat(loopback.bindAddresses(7)).isEqualTo(loopback.withPort(7));
        assertThat(LocalAddresses.loopback().bindAddresses(7))
                .containsExactly(new InetSocketAddress(InetAddress.getLoopbackAddress(), 7));
    }

    @Test
    void unknownInterfaceErrorListsExistingInterfaces() throws SocketException {
        String loopback = loopback();
        assertThatThrownBy(() -> LocalAddresses.ofInterfaces(List.of("eth99", "ib7")))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("no network interface 'eth99' or 'ib7'")
                .hasMessageContaining("  " + loopback + ": 127.0.0.1");
    }

    private static String loopback() throws SocketException {
        return NetworkInterface.getByInetAddress(InetAddress.ofLiteral("127.0.0.1")).getName();
    }
}

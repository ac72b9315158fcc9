package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;

class LauncherAddressTest {
    @Test
    void localJobUsesLoopback() {
        assertThat(LauncherAddress.of(1, false, List.of("no-such-interface")).local())
                .isEqualTo("127.0.0.1");
    }

    @Test
    void remoteHostsGetAllAddresses() throws UnknownHostException {
        LauncherAddress point =
                new LauncherAddress(
                        1,
                        List.of(
                                InetAddress.ofLiteral("192.0.2.1"),
                                InetAddress.ofLiteral("fd00::2")));
        assertThat(point.forHost("nowhere.invalid")).isEqualTo("192.0.2.1,fd00:0:0:0:0:0:0:2");
    }

    @Test
    void routedAddressComesFirst() {
        LauncherAddress point =
                new LauncherAddress(
                        1,
                        List.of(
                                InetAddress.ofLiteral("192.0.2.1"),
                                InetAddress.getLoopbackAddress()));
        assertThat(point.forHost("127.0.0.9")).isEqualTo("127.0.0.1,192.0.2.1");
    }

    @Test
    void launcherWithoutNamedInterfaceUsesAll() {
        assertThat(LauncherAddress.of(1, true, List.of("no-such-interface")))
                .isEqualTo(LauncherAddress.of(1, true, List.of()));
    }
}

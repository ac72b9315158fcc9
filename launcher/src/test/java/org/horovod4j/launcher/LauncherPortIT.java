package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.horovod4j.network.LocalAddresses;
import org.horovod4j.testsupport.TcpSockets;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/// At which addresses the launcher listens, as the kernel's table of sockets shows it. The hosts are
/// those of a [FakeSsh].
class LauncherPortIT {
    private FakeSsh ssh;

    @BeforeEach
    void createSsh(@TempDir Path folder) throws IOException {
        ssh = FakeSsh.in(folder);
    }

    /// @param flags of a job with two ranks
    /// @return the addresses at which its launcher listens while both ranks run
    private Set<InetAddress> addresses(boolean elastic, String... flags) throws IOException {
        List<String> words = new ArrayList<>(List.of("-np", "2"));
        if (elastic) {
            words.addAll(List.of("--min-np", "2"));
        }
        words.addAll(List.of(flags));
        words.addAll(List.of("sh", "-c", "echo job=$HOROVOD_JOB_ID; exec sleep 1000"));
        try (LauncherProcess launcher = ssh.start(words.toArray(String[]::new))) {
            launcher.awaitOutput("job=(\\S+)", 2);
            return TcpSockets.of(launcher.pid()).listening().stream()
                    .map(TcpSockets.Socket::localAddress)
                    .collect(Collectors.toSet());
        }
    }

    /// An interface of this machine by which others reach it; skips the test if there is none.
    private static String outwardInterface() throws SocketException {
        List<InetAddress> outward =
                LocalAddresses.all().addresses().stream()
                        .filter(address -> !address.isLoopbackAddress())
                        .toList();
        assumeTrue(!outward.isEmpty(), "this machine has loopback only");
        return NetworkInterface.getByInetAddress(outward.getFirst()).getName();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void jobOnThisMachineIsServedOnLoopbackOnly(boolean elastic) throws Exception {
        assertThat(addresses(elastic, "-H", "localhost:1,127.0.0.1:1"))
                .containsExactly(InetAddress.getLoopbackAddress());
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void jobOnOtherHostsIsServedAtChosenInterfaces(boolean elastic) throws Exception {
        String chosen = outwardInterface();
        Set<InetAddress> expected =
                new HashSet<>(LocalAddresses.ofInterfaces(List.of(chosen)).addresses());
        expected.add(InetAddress.getLoopbackAddress());
        assertThat(
                        addresses(
                                elastic,
                                "-H",
                                "localhost:1,far.invalid:1",
                                "--network-interfaces",
                                "no-such-interface," + chosen))
                .isEqualTo(expected);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void launcherWithoutChosenInterfaceListensAtAll(boolean elastic) throws Exception {
        String missing = "no-such-interface";
        assertThat(addresses(elastic, "-H", "far.invalid:2", "--network-interfaces", missing))
                .hasSize(1)
                .allMatch(InetAddress::isAnyLocalAddress);
    }
}

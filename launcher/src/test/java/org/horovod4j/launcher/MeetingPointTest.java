package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.junit.jupiter.api.Test;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;

class MeetingPointTest {
    @Test
    void aJobOfThisMachineMeetsOnLoopback() {
        assertThat(MeetingPoint.of(1, false, List.of("no-such-interface")).here())
                .isEqualTo("127.0.0.1");
    }

    @Test
    void othersGetAllAddressesWithCommasBetween() throws UnknownHostException {
        MeetingPoint point =
                new MeetingPoint(
                        1,
                        List.of(
                                InetAddress.ofLiteral("192.0.2.1"),
                                InetAddress.ofLiteral("fd00::2")));
        assertThat(point.from("nowhere.invalid")).isEqualTo("192.0.2.1,fd00:0:0:0:0:0:0:2");
    }

    @Test
    void theAddressOnTheWayToTheHostComesFirst() {
        MeetingPoint point =
                new MeetingPoint(
                        1,
                        List.of(
                                InetAddress.ofLiteral("192.0.2.1"),
                                InetAddress.getLoopbackAddress()));
        assertThat(point.from("127.0.0.9")).isEqualTo("127.0.0.1,192.0.2.1");
    }

    @Test
    void anInterfaceThatIsNotThereIsNamed() {
        assertThatThrownBy(() -> MeetingPoint.of(1, true, List.of("no-such-interface")))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("no network interface 'no-such-interface'")
                .hasMessageContaining("lo");
    }
}

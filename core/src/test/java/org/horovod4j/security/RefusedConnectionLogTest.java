package org.horovod4j.security;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.security.HandshakeException.Reason;
import org.junit.jupiter.api.Test;

import java.net.InetAddress;
import java.net.UnknownHostException;

final class RefusedConnectionLogTest {
    private final RecordingLogger logger = new RecordingLogger();
    private final RefusedConnectionLog log = new RefusedConnectionLog(logger);

    @Test
    void logsEachAddressAndReasonOnce() throws Exception {
        HandshakeException closed = new HandshakeException(Reason.CLOSED, "closed");
        HandshakeException secret = new HandshakeException(Reason.SECRET, "does not know");
        for (int i = 0; i < 3; i++) {
            log.refused(address(1), closed);
            log.refused(address(1), secret);
            log.refused(address(2), closed);
        }
        assertThat(logger.lines()).hasSize(3);
    }

    @Test
    void logStopsAtCapacityWithFinalLine() throws Exception {
        for (int i = 0; i < 3 * RefusedConnectionLog.CAPACITY; i++) {
            log.refused(address(i), new HandshakeException(Reason.CLOSED, "closed"));
        }
        assertThat(logger.lines()).hasSize(RefusedConnectionLog.CAPACITY + 1);
        assertThat(logger.lines().getLast()).contains("will not be reported");
    }

    private static InetAddress address(int i) throws UnknownHostException {
        return InetAddress.getByAddress(new byte[] {10, 0, (byte) (i >> 8), (byte) i});
    }
}

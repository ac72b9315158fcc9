package org.horovod4j.trust;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.trust.RefusedException.Reason;
import org.junit.jupiter.api.Test;

import java.net.InetAddress;
import java.net.UnknownHostException;

final class RefusalLogTest {
    private final RecordingLogger logger = new RecordingLogger();
    private final RefusalLog log = new RefusalLog(logger);

    @Test
    void tellsEachAddressAndReasonOnce() throws Exception {
        RefusedException closed = new RefusedException(Reason.CLOSED, "closed");
        RefusedException secret = new RefusedException(Reason.SECRET, "does not know");
        for (int i = 0; i < 3; i++) {
            log.refused(address(1), closed);
            log.refused(address(1), secret);
            log.refused(address(2), closed);
        }
        assertThat(logger.lines()).hasSize(3);
    }

    @Test
    void aFloodFromEverywhereEndsWithOneLastLine() throws Exception {
        for (int i = 0; i < 3 * RefusalLog.CAPACITY; i++) {
            log.refused(address(i), new RefusedException(Reason.CLOSED, "closed"));
        }
        assertThat(logger.lines()).hasSize(RefusalLog.CAPACITY + 1);
        assertThat(logger.lines().getLast()).contains("will not be reported");
    }

    private static InetAddress address(int i) throws UnknownHostException {
        return InetAddress.getByAddress(new byte[] {10, 0, (byte) (i >> 8), (byte) i});
    }
}

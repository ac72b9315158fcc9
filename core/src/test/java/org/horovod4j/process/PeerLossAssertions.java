package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.PeerLostException;

import java.time.Duration;

/// Assertions that all tests of a lost rank share.
final class PeerLossAssertions {
    /// How long the other ranks may take to exit after a loss. Their calls must fail within five
    /// seconds; a busy machine then needs longer to end their processes.
    static final Duration LIMIT = Duration.ofSeconds(15);

    private PeerLossAssertions() {}

    static void assertNamesLostRank(CallResult callResult, int lostRank, String host) {
        assertThat(callResult.type())
                .as(callResult.message())
                .isEqualTo(PeerLostException.class.getSimpleName());
        assertThat(callResult.lostRank()).as(callResult.message()).isEqualTo(lostRank);
        assertThat(callResult.host()).as(callResult.message()).isEqualTo(host);
        assertThat(callResult.message()).contains("rank " + lostRank, host);
    }

    /// Prints the measured time into the output of the build.
    static void print(String what, Duration took) {
        System.out.println("%s: all others had ended %d ms later".formatted(what, took.toMillis()));
    }
}

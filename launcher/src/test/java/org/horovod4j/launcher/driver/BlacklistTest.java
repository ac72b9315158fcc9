package org.horovod4j.launcher.driver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.time.Duration;

class BlacklistTest {
    private static final Worker WORKER = new Worker(0, "a", 0);

    private final Blacklist blacklist = new Blacklist(new Cooldown(seconds(10), seconds(35)));

    @Test
    void secondFailureOfASlotBlacklistsItsHost() {
        assertThat(blacklist.recordFailure(WORKER, seconds(0))).isEmpty();
        assertThat(blacklist.isBlacklisted("a", seconds(0))).isFalse();
        assertThat(blacklist.recordFailure(new Worker(1, "a", 0), seconds(5)))
                .contains(seconds(10));
        assertThat(blacklist.isBlacklisted("a", seconds(14))).isTrue();
        assertThat(blacklist.isBlacklisted("a", seconds(15))).isFalse();
        assertThat(blacklist.isBlacklisted("b", seconds(5))).isFalse();
    }

    @Test
    void failuresAreCountedPerSlot() {
        assertThat(blacklist.recordFailure(WORKER, seconds(0))).isEmpty();
        assertThat(blacklist.recordFailure(new Worker(1, "a", 1), seconds(0))).isEmpty();
        assertThat(blacklist.recordFailure(new Worker(2, "b", 0), seconds(0))).isEmpty();
    }

    @Test
    void failedSlotIsNotReusedDuringRetryDelay() {
        var _ = blacklist.recordFailure(WORKER, seconds(3));
        assertThat(blacklist.isInRetryDelay("a", 0, seconds(3))).isTrue();
        assertThat(blacklist.isInRetryDelay("a", 1, seconds(3))).isFalse();
        assertThat(blacklist.isInRetryDelay("a", 0, seconds(4))).isFalse();
    }

    @Test
    void cooldownDoublesUpToMaximum() {
        assertThat(blacklist.ban("a", seconds(0))).isEqualTo(seconds(10));
        assertThat(blacklist.ban("a", seconds(10))).isEqualTo(seconds(20));
        assertThat(blacklist.ban("a", seconds(30))).isEqualTo(seconds(35));
        assertThat(blacklist.ban("a", seconds(65))).isEqualTo(seconds(35));
    }

    @Test
    void failuresExpireAfterLongestCooldown() {
        assertThat(blacklist.recordFailure(WORKER, seconds(0))).isEmpty();
        assertThat(blacklist.recordFailure(WORKER, seconds(36))).isEmpty();
        assertThat(blacklist.recordFailure(WORKER, seconds(37))).contains(seconds(10));
        assertThat(blacklist.ban("a", seconds(83))).isEqualTo(seconds(10));
    }

    @ParameterizedTest
    @CsvSource({"0, 10", "10, 9", "1, 3601", "-1, -1"})
    void invalidCooldownRangeIsRejected(int shortest, int longest) {
        assertThatThrownBy(() -> new Cooldown(seconds(shortest), seconds(longest)))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining(
                        "--blacklist-cooldown-range: from %d to %d", shortest, longest);
    }

    private static Duration seconds(int seconds) {
        return Duration.ofSeconds(seconds);
    }
}

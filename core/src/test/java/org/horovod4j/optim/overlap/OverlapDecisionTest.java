package org.horovod4j.optim.overlap;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OverlapDecisionTest {
    private static final String REASON = "all are busy";

    @ParameterizedTest(name = "{0} ranks, overlap pays for rank {1}")
    @CsvSource({"2, 0, true", "2, 1, true", "3, 2, true", "2, -1, false", "3, -1, false"})
    void allRanksOverlapIfOneBenefits(int size, int rank, boolean overlaps) {
        World.run(
                size,
                comm -> {
                    OverlapDecision decision =
                            OverlapDecision.negotiated("overlap", comm.rank() == rank, REASON);
                    decision.agree(comm.processSet());
                    assertThat(decision.overlaps()).isEqualTo(overlaps);
                    assertThat(decision.reason()).isEqualTo(overlaps ? "" : REASON);
                });
    }

    /// Not even a rank for which it pays: the others would not know what it has launched.
    @Test
    void noRankOverlapsBeforeAgreement() {
        OverlapDecision decision = OverlapDecision.negotiated("overlap", true, REASON);
        assertThat(decision.overlaps()).isFalse();
        assertThat(decision.reason()).isEqualTo("the ranks agree on it in the first step");
    }

    @Test
    void explicitOverlapNeedsNoAgreement() {
        World.run(
                2,
                comm -> {
                    OverlapDecision decision = OverlapDecision.always();
                    assertThat(decision.overlaps()).isTrue();
                    if (comm.rank() == 0) {
                        decision.agree(comm.processSet()); // does not wait for the other rank
                    }
                    assertThat(decision.reason()).isEmpty();
                });
    }

    /// A rank that has joined does not learn what the others agree on, so they agree again.
    @Test
    void joinedRankAgreesInNextEpoch() {
        World.run(
                2,
                comm -> {
                    OverlapDecision decision = OverlapDecision.negotiated("overlap", true, REASON);
                    if (comm.rank() == 0) {
                        decision.agree(comm.processSet());
                        assertThat(decision.overlaps()).isFalse();
                    }
                    comm.join();
                    decision.agree(comm.processSet());
                    assertThat(decision.overlaps()).isTrue();
                });
    }
}

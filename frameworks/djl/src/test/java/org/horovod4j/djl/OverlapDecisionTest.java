package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OverlapDecisionTest {
    private static final String WHY_NOT = "all are busy";

    @ParameterizedTest(name = "{0} ranks, rank {1} gains by it")
    @CsvSource({"2, 0, true", "2, 1, true", "3, 2, true", "2, -1, false", "3, -1, false"})
    void allRanksOverlapIfOneBenefits(int size, int gains, boolean overlaps) {
        World.run(
                size,
                comm -> {
                    OverlapDecision choice =
                            OverlapDecision.negotiated("overlap", comm.rank() == gains, WHY_NOT);
                    choice.agree(comm.processSet());
                    assertThat(choice.overlaps()).isEqualTo(overlaps);
                    assertThat(choice.reason()).isEqualTo(overlaps ? "" : WHY_NOT);
                });
    }

    /// Even the one that gains: the others would not know that it has launched something.
    @Test
    void noRankOverlapsBeforeAgreement() {
        OverlapDecision choice = OverlapDecision.negotiated("overlap", true, WHY_NOT);
        assertThat(choice.overlaps()).isFalse();
        assertThat(choice.reason()).isEqualTo("the ranks agree on it in the first step");
    }

    @Test
    void explicitOverlapNeedsNoAgreement() {
        World.run(
                2,
                comm -> {
                    OverlapDecision choice = OverlapDecision.always();
                    assertThat(choice.overlaps()).isTrue();
                    if (comm.rank() == 0) {
                        choice.agree(comm.processSet()); // the other rank would have to come, too
                    }
                    assertThat(choice.reason()).isEmpty();
                });
    }

    /// What the others would agree on while a rank has joined is not known to it afterwards.
    @Test
    void joinedRankAgreesInNextEpoch() {
        World.run(
                2,
                comm -> {
                    OverlapDecision choice = OverlapDecision.negotiated("overlap", true, WHY_NOT);
                    if (comm.rank() == 0) {
                        choice.agree(comm.processSet());
                        assertThat(choice.overlaps()).isFalse();
                    }
                    comm.join();
                    choice.agree(comm.processSet());
                    assertThat(choice.overlaps()).isTrue();
                });
    }
}

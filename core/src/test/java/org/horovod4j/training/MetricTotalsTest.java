package org.horovod4j.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

class MetricTotalsTest {
    @Test
    void eachSampleCountsAlike() {
        World.run(
                3,
                comm -> {
                    MetricTotals totals = new MetricTotals();
                    // rank 0: 10 of 10 correct, rank 1: 0 of 20, rank 2 has no samples
                    totals.add("samples", 10 * comm.rank() * (2 - comm.rank()) * 2);
                    totals.add("samples", comm.rank() == 0 ? 10 : 0);
                    totals.add("correct", comm.rank() == 0 ? 10 : 0);
                    totals.sumOverRanks(comm);
                    assertThat(totals.get("samples")).isEqualTo(30);
                    assertThat(totals.ratio("correct", "samples")).isEqualTo(10.0 / 30);
                });
    }

    @Test
    void unknownTotalIsRejected() {
        MetricTotals totals = new MetricTotals();
        totals.add("loss", 1);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> totals.get("los"))
                .withMessage("there is no total 'los'; there are [loss]");
    }
}

package org.horovod4j.benchmarks.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.horovod4j.benchmarks.report.RoundTimes.Turn;
import org.junit.jupiter.api.Test;

import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;

class RoundTimesTest {
    @Test
    void pairsByRoundNotByPosition() {
        RoundTimes mine = times(new int[] {1, 2, 3}, 10, 20, 30);
        RoundTimes others = times(new int[] {3, 2}, 3, 2);

        assertThat(mine.ratioCell(others)).isEqualTo("10.0 [10.0..10.0] (1 dropped)");
        assertThat(others.ratioCell(mine)).isEqualTo("0.10 [0.10..0.10] (1 dropped)");
    }

    @Test
    void countsDroppedRoundsOnceInAChain() {
        RoundTimes compute = times(new int[] {1, 2, 3}, 10, 10, 10);
        RoundTimes communicate = times(new int[] {1, 3}, 2, 2);

        RoundTimes sum = compute.combine(communicate, Double::sum);
        RoundTimes saved = sum.combine(compute, (left, right) -> left - right);

        assertThat(saved.medians()).isEqualTo(Map.of(turn(1), 2.0, turn(3), 2.0));
        assertThat(saved.dropped()).isEqualTo(Set.of(turn(2)));
        assertThat(saved.timeCell()).isEqualTo("2.00 µs [2.00..2.00] (1 dropped)");
    }

    @Test
    void countsRoundsWithoutAnyPartner() {
        assertThat(times(new int[] {1, 2}, 1, 1).ratioCell(times(new int[] {3}, 1)))
                .isEqualTo("– (3 dropped)");
    }

    @Test
    void programThatWasNotMeasuredDropsNothing() {
        assertThat(times(new int[] {1, 2}, 1, 1).ratioCell(RoundTimes.NONE)).isEqualTo("–");
        assertThat(RoundTimes.NONE.ratioCell(times(new int[] {1}, 1))).isEqualTo("–");
        assertThat(RoundTimes.NONE.timeCell()).isEqualTo("–");
        assertThat(RoundTimes.NONE.median()).isEmpty();
    }

    @Test
    void perRoundIsTheMedianOfItsTurns() {
        RoundTimes turns =
                new RoundTimes(
                        new TreeMap<>(
                                Map.of(
                                        new Turn(1, 1), 1.0,
                                        new Turn(1, 2), 9.0,
                                        new Turn(1, 3), 2.0,
                                        new Turn(2, 1), 5.0)),
                        Set.of());

        assertThat(turns.perRound().medians().values()).containsExactly(2.0, 5.0);
    }

    @Test
    void secondResultOfATurnIsRejected() {
        Result result = Result.parse("openmpi@shm,2,4,7,1,1,1,1");

        assertThatIllegalArgumentException()
                .isThrownBy(() -> RoundTimes.of(IntStream.range(0, 2).mapToObj(i -> result)))
                .withMessageContaining("two results of round 7, turn 1");
    }

    private static RoundTimes times(int[] rounds, double... micros) {
        return RoundTimes.of(
                IntStream.range(0, rounds.length)
                        .mapToObj(
                                i ->
                                        new Result(
                                                "program",
                                                "shm",
                                                2,
                                                4,
                                                rounds[i],
                                                1,
                                                Percentiles.of(micros[i]))));
    }

    private static Turn turn(int round) {
        return new Turn(round, 1);
    }
}

package org.horovod4j.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.stream.IntStream;

class RoundRobinTest {
    @ParameterizedTest(name = "{0} elements, {1} ranks")
    @CsvSource({"0, 2", "1, 1", "6, 3", "7, 3", "8, 3", "2, 5"})
    void everyElementIsUsedOnOneRankOrDiscarded(int elements, int size) {
        List<Integer> all = IntStream.range(0, elements).boxed().toList();
        for (int rank = 0; rank < size; rank++) {
            List<Integer> discarded = new ArrayList<>();
            RoundRobin<Integer> part = new RoundRobin<>(all.iterator(), rank, size, discarded::add);
            List<Integer> own = new ArrayList<>();
            part.forEachRemaining(own::add);

            int first = rank;
            assertThat(own)
                    .isEqualTo(
                            IntStream.range(0, elements / size)
                                    .mapToObj(round -> round * size + first)
                                    .toList());
            assertThat(part.hasNext()).isFalse();
            assertThatThrownBy(part::next).isInstanceOf(NoSuchElementException.class);
            own.addAll(discarded);
            assertThat(own).containsExactlyInAnyOrderElementsOf(all);
        }
    }

    @Test
    void rankMustExist() {
        assertThatThrownBy(() -> new RoundRobin<>(List.of(1).iterator(), 2, 2, _ -> {}))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("there is no rank 2 of 2 ranks");
    }
}

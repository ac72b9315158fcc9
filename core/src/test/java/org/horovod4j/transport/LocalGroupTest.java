package org.horovod4j.transport;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.transport.local.LocalMemoryDomain;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.stream.IntStream;

class LocalGroupTest {
    private static final int SIZE = 4;

    private final LocalMemoryDomain domain = new LocalMemoryDomain(List.of(0, 1, 2, 3));

    private LocalGroup group(int rank) {
        return new LocalGroup(
                domain.memory(rank), new IdleStrategy(() -> {}, new ManualClock(), true));
    }

    private static List<Integer> order(LocalGroup group, int count) {
        return IntStream.range(0, count).mapToObj(step -> group.memberAt(step, count)).toList();
    }

    @Test
    void ranksReadTheMemoryOfMembersInDifferentOrders() {
        assertThat(order(group(0), SIZE)).containsExactly(0, 1, 2, 3);
        assertThat(order(group(1), SIZE)).containsExactly(1, 2, 3, 0);
        assertThat(order(group(3), SIZE)).containsExactly(3, 0, 1, 2);
    }

    @Test
    void rankThatIsNotAmongTheFirstMembersReadsEachOfThemOnce() {
        assertThat(order(group(2), 2)).containsExactly(0, 1);
        assertThat(order(group(3), 2)).containsExactly(1, 0);
    }
}

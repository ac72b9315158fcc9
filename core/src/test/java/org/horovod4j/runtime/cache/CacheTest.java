package org.horovod4j.runtime.cache;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.DataType;
import org.horovod4j.Shape;
import org.horovod4j.runtime.message.CollectiveKind;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.message.TestRequests;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

class CacheTest {
    private final Request a = TestRequests.sum("a", 3);
    private final Request b = TestRequests.sum("b", 3);
    private final Request c = TestRequests.sum("c", 3);
    private final List<Integer> evicted = new ArrayList<>();

    @Test
    void leastRecentlyUsedRequestIsEvicted() {
        CoordinatorCache book = new CoordinatorCache(2, 1);
        int slotOfA = book.add(a, evicted, 1);
        int slotOfB = book.add(b, evicted, 2);
        assertThat(book.slot(a)).isEqualTo(slotOfA); // used, so b is older now
        int slotOfC = book.add(c, evicted, 3);
        assertThat(evicted).containsExactly(slotOfB);
        assertThat(book.slot(c)).isEqualTo(slotOfC);
        assertThat(book.slot(b)).isEqualTo(-1);
        assertThat(List.of(slotOfA, slotOfB, slotOfC)).doesNotHaveDuplicates();
    }

    @Test
    void evictedRequestIsKeptUntilEveryRankAcknowledges() {
        CoordinatorCache book = new CoordinatorCache(1, 2);
        int slot = book.add(a, evicted, 1);
        book.add(b, evicted, 5);
        book.acknowledge(0, 9);
        assertThat(book.request(slot)).isSameAs(a); // rank 1 may still request it
        book.acknowledge(1, 5);
        assertThat(book.request(slot)).isSameAs(a);
        book.acknowledge(1, 6);
        assertThat(book.request(slot)).isNull();
        book.acknowledge(1, 2); // a late, older message changes nothing
        assertThat(book.request(slot)).isNull();
    }

    @Test
    void aChangedRequestTakesANewSlot() {
        CoordinatorCache book = new CoordinatorCache(4, 1);
        int old = book.add(a, evicted, 1);
        Request longer = TestRequests.sum("a", 4);
        assertThat(book.slot(longer)).isEqualTo(-1);
        int other = book.add(longer, evicted, 2);
        assertThat(other).isNotEqualTo(old);
        assertThat(evicted).containsExactly(old);
        assertThat(book.slot(longer)).isEqualTo(other);
    }

    @Test
    void withoutCapacityNothingIsCached() {
        CoordinatorCache book = new CoordinatorCache(0, 1);
        assertThat(book.add(a, evicted, 1)).isEqualTo(-1);
        assertThat(book.slot(a)).isEqualTo(-1);
        assertThat(evicted).isEmpty();
    }

    @Test
    void aRankAsksBySlotForWhatHasNotChanged() {
        RankCache cache = new RankCache();
        cache.put(3, a);
        assertThat(cache.slot(TestRequests.sum("a", 3))).isEqualTo(3);
        assertThat(cache.slot(TestRequests.sum("a", 4))).isEqualTo(-1);
        assertThat(cache.slot(a.withShared(true))).isEqualTo(-1);
        assertThat(cache.slot(TestRequests.inGroup("g", a))).isEqualTo(-1);
        assertThat(cache.slot(b)).isEqualTo(-1);
        assertThat(cache.request(3)).isSameAs(a);
    }

    @Test
    void differentRowCountOfAllgatherIsACacheHit() {
        RankCache cache = new RankCache();
        cache.put(0, TestRequests.of(CollectiveKind.ALLGATHER, "g", DataType.INT8, Shape.of(5, 2)));
        assertThat(
                        cache.slot(
                                TestRequests.of(
                                        CollectiveKind.ALLGATHER,
                                        "g",
                                        DataType.INT8,
                                        Shape.of(9, 2))))
                .isZero();
        assertThat(
                        cache.slot(
                                TestRequests.of(
                                        CollectiveKind.ALLGATHER,
                                        "g",
                                        DataType.INT8,
                                        Shape.of(9, 3))))
                .isEqualTo(-1);
    }

    @Test
    void removingAnOldSlotLeavesTheNewOneOfTheSameName() {
        RankCache cache = new RankCache();
        Request longer = TestRequests.sum("a", 4);
        cache.put(1, a);
        cache.put(2, longer);
        cache.remove(1);
        cache.remove(1);
        assertThat(cache.slot(longer)).isEqualTo(2);
        assertThat(cache.request(1)).isNull();
        cache.remove(2);
        assertThat(cache.slot(longer)).isEqualTo(-1);
    }
}

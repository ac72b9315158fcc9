package org.horovod4j.runtime.fusion;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.message.Requests;
import org.horovod4j.runtime.queue.Entry;
import org.horovod4j.runtime.queue.Operation;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Objects;

class PlanTest {
    private final Request a = Requests.sum("a", 1);
    private final Request b = Requests.sum("b", 2);
    private final Request longer = Requests.sum("a", 9);
    private final Plan plan = new Plan(4, List.of(List.of(a, b), List.of(longer)));

    /// Nothing here waits.
    private static final Entry.Owner NOBODY =
            new Entry.Owner() {
                @Override
                public void await(Entry<?> entry) {}

                @Override
                public void polled(Entry<?> entry) {}

                @Override
                public void observed() {}
            };

    private static Entry<?> entry(Request request) {
        return new Entry<Object>(request, new Operation.Barrier(), NOBODY);
    }

    private static boolean place(Plan plan, Entry<?> entry) {
        Plan.Places places = plan.places().get(entry.request().name());
        return places != null && places.put(entry);
    }

    @Test
    void entriesFindTheirPlacesInAnyOrder() {
        plan.begin(0);
        assertThat(place(plan, entry(b))).isTrue();
        assertThat(plan.ready()).isNull();
        Entry<?> first = entry(a);
        assertThat(place(plan, first)).isTrue();
        Batch ready = Objects.requireNonNull(plan.ready());
        assertThat(ready.entry(0)).isSameAs(first);
        assertThat(plan.advance()).isFalse();
        assertThat(plan.ready()).isNull();
        assertThat(place(plan, entry(longer))).isTrue();
        assertThat(plan.ready()).isNotNull();
        assertThat(plan.advance()).isTrue();
        assertThat(place(plan, entry(a))).isTrue();
    }

    @Test
    void aNameTakesItsPlacesInTurn() {
        plan.begin(0);
        assertThat(place(plan, entry(longer))).isFalse();
        assertThat(place(plan, entry(a))).isTrue();
        assertThat(place(plan, entry(a))).isFalse();
        assertThat(place(plan, entry(longer))).isTrue();
        assertThat(place(plan, entry(a))).isFalse(); // that of the first step has not run
    }

    @Test
    void itMayBeginInTheMiddleOfAStep() {
        plan.begin(1);
        assertThat(place(plan, entry(a))).isFalse();
        assertThat(place(plan, entry(longer))).isTrue();
        assertThat(plan.ready()).isNotNull();
        assertThat(plan.advance()).isTrue();
        plan.begin(0);
        assertThat(plan.ready()).isNull();
    }

    @Test
    void strangersHaveNoPlace() {
        plan.begin(0);
        assertThat(place(plan, entry(Requests.sum("c", 1)))).isFalse();
        assertThat(place(plan, entry(Requests.sum("b", 3)))).isFalse();
        assertThat(plan.has(Requests.sum("b", 3))).isFalse();
        assertThat(plan.has(longer)).isTrue();
    }

    @Test
    void itKnowsWhereBatchesBegin() {
        assertThat(plan.startingWith(a)).isZero();
        assertThat(plan.startingWith(longer)).isEqualTo(1);
        assertThat(plan.startingWith(b)).isEqualTo(-1);
        assertThat(plan.startingWith(Requests.sum("c", 1))).isEqualTo(-1);
    }
}

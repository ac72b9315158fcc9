package org.horovod4j.runtime.fusion;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.message.TestRequests;
import org.horovod4j.runtime.queue.Operation;
import org.horovod4j.runtime.queue.TensorEntry;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Objects;

class PlanTest {
    private final Request a = TestRequests.sum("a", 1);
    private final Request b = TestRequests.sum("b", 2);
    private final Request longer = TestRequests.sum("a", 9);
    private final Plan plan = new Plan(4, List.of(List.of(a, b), List.of(longer)));

    /// Does nothing: these tests do not wait for entries.
    private static final TensorEntry.ProgressEngine NO_ENGINE =
            new TensorEntry.ProgressEngine() {
                @Override
                public void await(TensorEntry<?> tensorEntry) {}

                @Override
                public void polled(TensorEntry<?> tensorEntry) {}

                @Override
                public void completionObserved() {}

                @Override
                public void passLock() {}
            };

    private static TensorEntry<?> entry(Request request) {
        TensorEntry<?> tensorEntry =
                new TensorEntry<Object>(request, new Operation.Barrier(), NO_ENGINE);
        tensorEntry.setSlot(() -> tensorEntry);
        return tensorEntry;
    }

    private static boolean place(Plan plan, TensorEntry<?> tensorEntry) {
        Plan.Places places = plan.places().get(tensorEntry.request().name());
        return places != null && places.put(tensorEntry);
    }

    @Test
    void entriesFindTheirPlacesInAnyOrder() {
        plan.restart(0);
        assertThat(place(plan, entry(b))).isTrue();
        assertThat(plan.ready()).isNull();
        TensorEntry<?> first = entry(a);
        assertThat(place(plan, first)).isTrue();
        Batch ready = Objects.requireNonNull(plan.ready());
        assertThat(ready.entry(0)).isSameAs(first);
        plan.advance();
        assertThat(plan.isAtStart()).isFalse();
        assertThat(plan.ready()).isNull();
        assertThat(place(plan, entry(longer))).isTrue();
        assertThat(plan.ready()).isNotNull();
        plan.advance();
        assertThat(plan.isAtStart()).isTrue();
        assertThat(place(plan, entry(a))).isTrue();
    }

    @Test
    void aNameTakesItsPlacesInTurn() {
        plan.restart(0);
        assertThat(place(plan, entry(longer))).isFalse();
        assertThat(place(plan, entry(a))).isTrue();
        assertThat(place(plan, entry(a))).isFalse();
        assertThat(place(plan, entry(longer))).isTrue();
        assertThat(place(plan, entry(a))).isFalse(); // that of the first step has not run
    }

    @Test
    void planMayStartInTheMiddleOfAStep() {
        plan.restart(1);
        assertThat(place(plan, entry(a))).isFalse();
        assertThat(place(plan, entry(longer))).isTrue();
        assertThat(plan.ready()).isNotNull();
        plan.advance();
        assertThat(plan.isAtStart()).isTrue();
        plan.restart(0);
        assertThat(plan.ready()).isNull();
    }

    @Test
    void unknownOrChangedRequestsHaveNoPlace() {
        plan.restart(0);
        assertThat(place(plan, entry(TestRequests.sum("c", 1)))).isFalse();
        assertThat(place(plan, entry(TestRequests.sum("b", 3)))).isFalse();
        assertThat(plan.contains(TestRequests.sum("b", 3))).isFalse();
        assertThat(plan.contains(longer)).isTrue();
    }

    @Test
    void batchIsFoundByItsFirstRequest() {
        assertThat(plan.batchStartingWith(a)).isZero();
        assertThat(plan.batchStartingWith(longer)).isEqualTo(1);
        assertThat(plan.batchStartingWith(b)).isEqualTo(-1);
        assertThat(plan.batchStartingWith(TestRequests.sum("c", 1))).isEqualTo(-1);
    }
}

package org.horovod4j.launcher.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.junit.jupiter.api.Test;

class HostPlanTest {
    @Test
    void hostsAreFilledInOrder() {
        assertThat(HostPlan.of(Host.list("w0:2,w1:2"), 4).slots())
                .containsExactly(
                        new Slot("w0", 0, 4, 0, 2, 0, 2),
                        new Slot("w0", 1, 4, 1, 2, 0, 2),
                        new Slot("w1", 2, 4, 0, 2, 1, 2),
                        new Slot("w1", 3, 4, 1, 2, 1, 2));
    }

    @Test
    void unusedHostsAreIgnored() {
        assertThat(HostPlan.of(Host.list("w0:2,w1:2"), 2).slots())
                .containsExactly(
                        new Slot("w0", 0, 2, 0, 2, 0, 1), new Slot("w0", 1, 2, 1, 2, 0, 1));
    }

    @Test
    void crossRankCountsOnlyHostsWithLocalRank() {
        assertThat(HostPlan.of(Host.list("w0:1,w1:2"), 3).slots())
                .containsExactly(
                        new Slot("w0", 0, 3, 0, 1, 0, 2),
                        new Slot("w1", 1, 3, 0, 2, 1, 2),
                        new Slot("w1", 2, 3, 1, 2, 0, 1));
    }

    @Test
    void partlyUsedHostHasLocalSizeOfUsedSlots() {
        assertThat(HostPlan.of(Host.list("w0:2,w1:4,w2:8"), 5).slots())
                .extracting(Slot::host, Slot::localSize, Slot::crossRank, Slot::crossSize)
                .map(Object::toString)
                .containsExactly(
                        "(\"w0\", 2, 0, 2)",
                        "(\"w0\", 2, 0, 2)",
                        "(\"w1\", 3, 1, 2)",
                        "(\"w1\", 3, 1, 2)",
                        "(\"w1\", 3, 0, 1)");
    }

    @Test
    void namesOfOneMachineAreCountedTogether() {
        assertThat(
                        HostPlan.of(Host.list("w0:1,w1:2,w0.local:2"), 5)
                                .countedBy(host -> host.replace(".local", ""))
                                .slots())
                .containsExactly(
                        new Slot("w0", 0, 5, 0, 3, 0, 2),
                        new Slot("w1", 1, 5, 0, 2, 1, 2),
                        new Slot("w1", 2, 5, 1, 2, 1, 2),
                        new Slot("w0.local", 3, 5, 1, 3, 0, 2),
                        new Slot("w0.local", 4, 5, 2, 3, 0, 1));
    }

    @Test
    void tooFewSlotsAreRejected() {
        assertThatThrownBy(() -> HostPlan.of(Host.list("w0:2,w1:1"), 4))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("3 slots in all (w0:2, w1:1)");
    }
}

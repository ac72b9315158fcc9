package org.horovod4j.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.Communicator;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

import java.util.List;

class CommunicatorProviderTest {
    @Test
    void closedCommunicatorIsRejected() {
        Communicator ended = World.of(1).call(comm -> comm).getFirst();
        assertThat(ended.isOpen()).isFalse();
        assertThatThrownBy(() -> new CommunicatorProvider(ended).current())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("the communicator given to this object is closed")
                .hasMessageContaining("Build the object without a communicator");
    }

    @Test
    void openCommunicatorIsReturned() {
        World.run(2, comm -> assertThat(new CommunicatorProvider(comm).current()).isSameAs(comm));
    }

    @Test
    void providersOfOneCommunicatorAreEqual() {
        World.run(
                2,
                comm ->
                        assertThat(new CommunicatorProvider(comm))
                                .isEqualTo(new CommunicatorProvider(comm))
                                .hasSameHashCodeAs(new CommunicatorProvider(comm))
                                .isNotEqualTo(CommunicatorProvider.FROM_HVD));
        List<Communicator> ranks = World.of(2).call(comm -> comm);
        assertThat(new CommunicatorProvider(ranks.get(0)))
                .isNotEqualTo(new CommunicatorProvider(ranks.get(1)));
    }
}

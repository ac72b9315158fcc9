package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.Communicator;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

class CommunicatorProviderTest {
    @Test
    void closedCommunicatorIsRejected() {
        Communicator ended = World.of(1).call(comm -> comm).getFirst();
        ShardedSampler sampler = ShardedSampler.batches(4).communicator(ended).build();
        assertThat(ended.isOpen()).isFalse();
        assertThatThrownBy(() -> sampler.stepsPerEpoch(8))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("is closed: its world has ended")
                .hasMessageContaining("Build it without a communicator");
    }

    @Test
    void openCommunicatorIsReturned() {
        World.run(2, comm -> assertThat(new CommunicatorProvider(comm).current()).isSameAs(comm));
    }
}

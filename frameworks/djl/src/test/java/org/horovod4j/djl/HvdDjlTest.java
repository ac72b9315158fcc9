package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.Device;

import org.horovod4j.ConfigurationException;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

class HvdDjlTest {

    @Test
    void deviceIsGpuOfLocalRank() {
        World.run(
                2,
                comm ->
                        assertThat(HvdDjl.device("PyTorch", 4, comm))
                                .isEqualTo(Device.gpu(comm.localRank())));
    }

    @Test
    void deviceIsCpuWithoutGpus() {
        World.run(2, comm -> assertThat(HvdDjl.device("PyTorch", 0, comm)).isEqualTo(Device.cpu()));
    }

    @Test
    void moreRanksThanGpusAreRejected() {
        World.run(
                3,
                comm ->
                        assertThatThrownBy(() -> HvdDjl.device("PyTorch", 2, comm))
                                .isInstanceOf(ConfigurationException.class)
                                .hasMessageContaining("runs 3 ranks")
                                .hasMessageContaining("sees 2 of its GPUs")
                                .hasMessageContaining("at most 2 ranks"));
    }
}

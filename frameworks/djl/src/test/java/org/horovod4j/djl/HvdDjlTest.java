package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.Device;

import org.horovod4j.ConfigurationException;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.Map;

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

    @Test
    void ranksShareGpusIfTheUserAllowsIt() {
        World.of(3)
                .with(Map.of("HOROVOD_SHARE_GPUS", "1"))
                .run(
                        comm ->
                                assertThat(HvdDjl.device("PyTorch", 2, comm))
                                        .isEqualTo(Device.gpu(comm.localRank() % 2)));
    }

    @ParameterizedTest
    @CsvSource({"HOROVOD_GPUS_PER_RANK, 2, 2", "CUDA_VISIBLE_DEVICES, 3, 1"})
    void deviceIsFirstGpuOfARankThatSeesOnlyItsOwn(String variable, String value, int gpus) {
        World.of(3)
                .with(Map.of(variable, value))
                .run(
                        comm ->
                                assertThat(HvdDjl.device("PyTorch", gpus, comm))
                                        .isEqualTo(Device.gpu(0)));
    }

    /// `horovodrun` sets 0 when all ranks inherit the same list.
    @Test
    void oneGpuThatAllRanksSeeBelongsToNone() {
        World.of(2)
                .with(Map.of("CUDA_VISIBLE_DEVICES", "3", "HOROVOD_GPUS_PER_RANK", "0"))
                .run(
                        comm ->
                                assertThatThrownBy(() -> HvdDjl.device("PyTorch", 1, comm))
                                        .isInstanceOf(ConfigurationException.class)
                                        .hasMessageContaining("HOROVOD_SHARE_GPUS=1"));
    }
}

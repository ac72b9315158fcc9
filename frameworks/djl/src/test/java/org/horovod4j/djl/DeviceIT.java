package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.djl.Device;
import ai.djl.engine.Engine;

import org.horovod4j.Communicator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.List;
import java.util.Map;

/// The same cases on the CPU and, where engine PyTorch has one, on a GPU. Two ranks share a GPU if
/// there is only one.
@Timeout(300)
class DeviceIT {
    @Test
    void collectivesAndTrainingOnCpu() {
        assertPassed(TestTraining.ranks(2).run(comm -> DeviceCases.run(comm, Device.cpu())));
    }

    @Test
    void collectivesAndTrainingOnGpu() {
        assumeTrue(gpus() > 0, "engine PyTorch has no GPU here");
        assertPassed(TestTraining.ranks(2).run(DeviceIT::onGpu));
    }

    private static Map<String, String> onGpu(Communicator comm) {
        return DeviceCases.run(comm, Device.gpu(comm.localRank() % gpus()));
    }

    private static int gpus() {
        return Engine.getEngine("PyTorch").getGpuCount();
    }

    private static void assertPassed(List<Map<String, String>> ranks) {
        for (Map<String, String> outcomes : ranks) {
            assertThat(outcomes).isNotEmpty();
            assertThat(outcomes)
                    .allSatisfy(
                            (name, outcome) ->
                                    assertThat(outcome).as(name).isEqualTo(DeviceCases.PASSED));
        }
    }
}

package org.horovod4j.pytorch.elastic;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.pytorch.DistributedOptimizer;
import org.horovod4j.pytorch.TestNetwork;
import org.horovod4j.pytorch.TorchProcesses;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

class TorchStateTest {
    /// The first commit is before the first step, when Adam has no state.
    @Test
    void stepsAfterRestoreEqualThoseAfterCommit() {
        World.run(
                2,
                comm -> {
                    TestNetwork network = TorchProcesses.newNetwork();
                    DistributedOptimizer optimizer =
                            DistributedOptimizer.wrap(network.adam(), network)
                                    .communicator(comm)
                                    .build();
                    TorchState state = new TorchState(network, optimizer);
                    for (int commit = 0; commit < 3; commit++) {
                        state.commit();
                        float[] committed = network.weights();
                        float[] trained = train(network, optimizer);
                        assertThat(trained).isNotEqualTo(committed);
                        state.restore();
                        assertThat(network.weights()).containsExactly(committed);
                        assertThat(train(network, optimizer)).containsExactly(trained);
                    }
                });
    }

    private static float[] train(TestNetwork network, DistributedOptimizer optimizer) {
        for (int from = 0; from < 8; from += 4) {
            optimizer.zeroGrad();
            network.pass(from, from + 4);
            optimizer.step();
        }
        return network.weights();
    }
}

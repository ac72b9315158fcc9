package org.horovod4j.pytorch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import org.horovod4j.Communicator;
import org.horovod4j.launcher.LaunchException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/// A rank throws between backward and step, so its gradients of the step are missing.
class FailedStepIT {
    @Test
    void otherRankFailsToo(@TempDir Path folder) {
        String other = folder.resolve("other").toString();
        assertThatThrownBy(() -> TorchProcesses.launcher(2).execute(comm -> train(comm, other)))
                .isInstanceOf(LaunchException.class)
                .hasMessageContaining("rank 1")
                .hasMessageContaining("cannot read the next batch");
        assertThat(Path.of(other)).content().contains("PeerLostException", "rank 1");
    }

    private static void train(Communicator comm, String failureFile) throws IOException {
        TestNetwork network = TorchProcesses.newNetwork();
        DistributedOptimizer optimizer =
                DistributedOptimizer.wrap(network.sgd(), network).communicator(comm).build();
        network.pass(0, 4);
        optimizer.step();
        optimizer.zeroGrad();
        float[] before = network.weights();
        network.pass(4, 8);
        if (comm.rank() == 1) {
            throw new IllegalStateException("cannot read the next batch");
        }
        Throwable failure = catchThrowable(optimizer::step);
        assertThat(network.weights()).containsExactly(before);
        Files.writeString(Path.of(failureFile), String.valueOf(failure));
    }
}

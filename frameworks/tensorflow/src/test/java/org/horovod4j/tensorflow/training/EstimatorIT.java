package org.horovod4j.tensorflow.training;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.launcher.Launcher;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/// An estimator in two processes.
class EstimatorIT {
    @TempDir Path folder;

    @Test
    void estimatorTrainsOnTwoProcesses() {
        String path = folder.toString();
        List<Map<String, Double>> metrics =
                Launcher.processes(2)
                        .jvmOptions(TestJvm.SHORT_LIVED)
                        .run(
                                comm -> {
                                    Estimator estimator =
                                            EstimatorTest.estimator(comm, Path.of(path)).build();
                                    int _ =
                                            estimator.train(
                                                    EstimatorTest.training(comm, 1000), 300);
                                    return estimator
                                            .evaluate(EstimatorTest.training(comm, 1))
                                            .metrics();
                                });
        assertThat(metrics.get(0)).isEqualTo(metrics.get(1));
        assertThat(metrics.get(0).get("loss")).isLessThan(1e-3);
    }
}

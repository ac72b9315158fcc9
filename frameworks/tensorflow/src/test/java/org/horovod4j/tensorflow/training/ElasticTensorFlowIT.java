package org.horovod4j.tensorflow.training;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.launcher.HorovodRun;
import org.horovod4j.testsupport.ElasticTestJob;
import org.horovod4j.testsupport.ElasticTestJob.WorkerEvent;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/// An elastic TensorFlow training, in which a process is killed and another one joins.
class ElasticTensorFlowIT {
    @TempDir private Path folder;

    @Test
    void survivorContinuesAndNewWorkerGetsItsVariables() throws Exception {
        try (ElasticTestJob job = start()) {
            List<WorkerEvent> first = job.awaitAll(0, 2);
            job.kill(first.getFirst()); // rank 0, which has sent its variables
            List<WorkerEvent> second = job.awaitAll(1, 1);
            List<WorkerEvent> third = job.awaitAll(2, 2);
            job.end();
            List<WorkerEvent> last = job.events("done", 2);

            assertThat(last).as(job.output()).hasSize(2);
            for (List<WorkerEvent> together : List.of(first, second, third, last)) {
                assertThat(together)
                        .as(job.output())
                        .extracting(it -> it.text("content"))
                        .containsOnly(together.getFirst().text("content"));
                assertThat(together)
                        .as("each step has changed the variables once")
                        .allSatisfy(
                                it ->
                                        assertThat(it.number("updates"))
                                                .isEqualTo(it.number("step")));
                assertThat(together)
                        .as("weights, two moments, two powers and the counter")
                        .extracting(it -> it.number("variables"))
                        .containsOnly(6);
            }
            assertThat(third)
                    .as("the survivor is not started again")
                    .extracting(WorkerEvent::pid)
                    .contains(second.getFirst().pid());
            assertThat(last.getFirst().number("step"))
                    .isGreaterThan(third.getFirst().number("step"));
        }
    }

    private ElasticTestJob start() throws IOException {
        List<String> worker =
                TestJvm.of(ElasticTensorFlowWorker.class, ElasticTestJob.endFile(folder).toString())
                        .with("-XX:TieredStopAtLevel=1", "--enable-native-access=ALL-UNNAMED")
                        .words();
        TestJvm launcher = TestJvm.of(HorovodRun.class, "-np", "2", "--min-np", "1").shortLived();
        return ElasticTestJob.start(
                folder,
                Stream.of(launcher.words(), worker).flatMap(List::stream).toList(),
                Map.of());
    }
}

package org.horovod4j.dl4j.training;

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

/// An elastic training of a DL4J network and a SameDiff graph, in which a process is killed and another one joins.
class ElasticDl4jIT {
    @TempDir private Path folder;

    @Test
    void survivorContinuesAndNewWorkerGetsItsNetwork() throws Exception {
        try (ElasticTestJob job = start()) {
            List<WorkerEvent> first = job.awaitAll(0, 2);
            job.kill(first.getFirst()); // rank 0, which has sent its network
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
                        .as("each step has updated the network once")
                        .allSatisfy(
                                it ->
                                        assertThat(it.number("iterations"))
                                                .isEqualTo(it.number("step")));
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
                TestJvm.of(ElasticDl4jWorker.class, ElasticTestJob.endFile(folder).toString())
                        .with("-XX:TieredStopAtLevel=1", "--enable-native-access=ALL-UNNAMED")
                        .words();
        TestJvm launcher = TestJvm.of(HorovodRun.class, "-np", "2", "--min-np", "1").shortLived();
        return ElasticTestJob.start(
                folder,
                Stream.of(launcher.words(), worker).flatMap(List::stream).toList(),
                Map.of("OMP_NUM_THREADS", "1"));
    }
}

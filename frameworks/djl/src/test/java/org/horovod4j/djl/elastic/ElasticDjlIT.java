package org.horovod4j.djl.elastic;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.djl.DjlProcesses;
import org.horovod4j.launcher.HorovodRun;
import org.horovod4j.testsupport.ElasticTestJob;
import org.horovod4j.testsupport.ElasticTestJob.WorkerEvent;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/// An elastic DJL training, in which some processes are killed.
class ElasticDjlIT {
    @TempDir private Path folder;

    @ParameterizedTest
    @ValueSource(ints = {0, 2})
    void survivorsContinueAndNewWorkerGetsTheirState(int victim) throws Exception {
        try (ElasticTestJob job = start()) {
            List<WorkerEvent> first = job.awaitAll(0, 3);
            job.kill(first.get(victim));
            List<WorkerEvent> second = job.awaitAll(1, 2);
            List<WorkerEvent> third = job.awaitAll(2, 3);
            job.end();
            List<WorkerEvent> last = job.events("done", 2);

            assertThat(last).as(job.output()).hasSize(3);
            for (List<WorkerEvent> together : List.of(first, second, third, last)) {
                assertThat(together)
                        .extracting(it -> it.text("content"))
                        .as(job.output())
                        .containsOnly(together.getFirst().text("content"));
                assertThat(together)
                        .allSatisfy(
                                it ->
                                        assertThat(it.number("updates"))
                                                .isEqualTo(it.number("step")));
            }
            assertThat(third)
                    .as("a mean and a variance of each")
                    .extracting(it -> it.number("arrays"))
                    .containsOnly(12);
            for (List<WorkerEvent> together : List.of(first, third)) {
                assertThat(together)
                        .as("the mean of 1/2, 4/2 and 9/2; 48 samples in batches of 3 × 8")
                        .extracting(it -> it.text("loss") + " " + it.text("batches"))
                        .containsOnly("2.333 2");
            }
            assertThat(second)
                    .as("the mean of 1/2 and 4/2; 48 samples in batches of 2 × 8")
                    .extracting(it -> it.text("loss") + " " + it.text("batches"))
                    .containsOnly("1.250 3");
            assertThat(folder.resolve("checkpoints")).isNotEmptyDirectory();
            assertThat(third)
                    .extracting(WorkerEvent::pid)
                    .as("survivors are not started again")
                    .containsAll(second.stream().map(WorkerEvent::pid).toList());
            assertThat(last.getFirst().number("step"))
                    .isGreaterThan(third.getFirst().number("step"));
        }
    }

    private ElasticTestJob start() throws IOException {
        List<String> worker =
                DjlProcesses.rank(ElasticDjlWorker.class, ElasticTestJob.endFile(folder).toString())
                        .with("-Dai.djl.offline=true")
                        .words();
        TestJvm launcher = TestJvm.of(HorovodRun.class, "-np", "3", "--min-np", "2").shortLived();
        return ElasticTestJob.start(
                folder,
                Stream.of(launcher.words(), worker).flatMap(List::stream).toList(),
                Map.of("OMP_NUM_THREADS", "1"));
    }
}

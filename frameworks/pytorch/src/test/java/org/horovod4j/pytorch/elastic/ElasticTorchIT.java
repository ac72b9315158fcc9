package org.horovod4j.pytorch.elastic;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.launcher.HorovodRun;
import org.horovod4j.pytorch.TorchProcesses;
import org.horovod4j.testsupport.ElasticTestJob;
import org.horovod4j.testsupport.ElasticTestJob.WorkerEvent;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/// An elastic training with PyTorch, in which a process is killed.
class ElasticTorchIT {
    @TempDir private Path folder;

    @Test
    void survivorsContinueAndNewWorkerGetsTheirState() throws Exception {
        try (ElasticTestJob job = start()) {
            List<WorkerEvent> first = job.awaitAll(0, 3);
            job.kill(first.get(1));
            List<WorkerEvent> second = job.awaitAll(1, 2);
            List<WorkerEvent> third = job.awaitAll(2, 3);
            job.end();
            List<WorkerEvent> last = job.events("done", 2);

            assertThat(last).as(job.output()).hasSize(3);
            for (List<WorkerEvent> together : List.of(first, second, third, last)) {
                WorkerEvent any = together.getFirst();
                assertThat(together)
                        .as(job.output())
                        .allSatisfy(
                                it -> {
                                    assertThat(it.text("content")).isEqualTo(any.text("content"));
                                    assertThat(it.number("step")).isEqualTo(any.number("step"));
                                });
            }
            // Adam's state is equal too, or the weights after another step would differ
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
                TestJvm.of(ElasticTorchWorker.class, ElasticTestJob.endFile(folder).toString())
                        .shortLived()
                        .with(TorchProcesses.JAVACPP_OPTIONS.toArray(String[]::new))
                        .words();
        TestJvm launcher = TestJvm.of(HorovodRun.class, "-np", "3", "--min-np", "2").shortLived();
        return ElasticTestJob.start(
                folder,
                Stream.of(launcher.words(), worker).flatMap(List::stream).toList(),
                TorchProcesses.ONE_THREAD);
    }
}

package org.horovod4j.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.option.Environment;
import org.horovod4j.option.WorkerSettings;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Path;
import java.util.Map;

/// The warm-up of a worker before it joins.
final class WorkerWarmUpTest {
    @TempDir private Path folder;

    private WorkerWarmUp warmUp(String variable, String value) {
        Environment environment =
                new Environment(Map.of("HOROVOD_SHM_FOLDER", folder.toString(), variable, value));
        return new WorkerWarmUp(WorkerSettings.from(environment), Kernels.best());
    }

    @ParameterizedTest
    @ValueSource(strings = {"auto", "tcp"})
    void warmUpSucceedsAndLeavesNoThreadsOrFiles(String transport) {
        assertThat(warmUp("HOROVOD_TRANSPORT", transport).run()).isTrue();
        assertThat(folder).isEmptyDirectory();
        await().until(
                        () ->
                                Thread.getAllStackTraces().keySet().stream()
                                        .map(Thread::getName)
                                        .noneMatch(name -> name.startsWith("hvd-warmup")));
    }

    @Test
    void failedWarmUpDoesNotStopTheWorker() {
        assertThat(warmUp("HOROVOD_NETWORK_INTERFACES", "no-such-0").run()).isFalse();
    }
}

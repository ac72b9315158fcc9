package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.horovod4j.Hvd;
import org.horovod4j.option.Options;
import org.horovod4j.testsupport.Processes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.Arrays;

/// Shared memory if the usual folder cannot be used.
class SharedMemoryFolderIT {
    private static final int SIZE = 2;

    /// Runs every collective.
    static final class Worker {
        private Worker() {}

        public static void main(String[] args) {
            Hvd.init();
            new AllCollectives(Hvd.communicator()).run();
            Hvd.shutdown();
        }
    }

    @Test
    void missingFolderFallsBackToTemporaryFolder() throws Exception {
        TestJobPlan plan =
                TestJobPlan.of(SIZE, Worker.class).with(Options.SHM_FOLDER, "/nonexistent");
        assertWorksWithOneWarning(plan, "/nonexistent");
    }

    /// As in a container, where `/dev/shm` has 64 MiB or does not exist.
    @Test
    void smallFolderFallsBackToTemporaryFolder(@TempDir Path folder) throws Exception {
        String mount = "mount -t tmpfs -o size=64k tmpfs \"$0\" && exec \"$@\"";
        String[] small = {"unshare", "--mount", "sh", "-c", mount, folder.toString()};
        assumeRuns(small);
        TestJobPlan plan =
                TestJobPlan.of(SIZE, Worker.class).with(Options.SHM_FOLDER, folder.toString());
        for (int rank = 0; rank < SIZE; rank++) {
            plan.withCommandPrefix(rank, small);
        }
        assertWorksWithOneWarning(plan, folder.toString());
    }

    private static void assumeRuns(String... prefix) throws Exception {
        String[] command = Arrays.copyOf(prefix, prefix.length + 1);
        command[prefix.length] = "true";
        assumeTrue(Processes.run(command) == 0, "needs the right to mount a folder (root)");
    }

    private static void assertWorksWithOneWarning(TestJobPlan plan, String folder)
            throws Exception {
        try (TestJob testJob = plan.start()) {
            testJob.awaitSuccess();
            for (TestRankProcess rank : testJob.ranks()) {
                assertThat(rank.output())
                        .containsOnlyOnce("Cannot create shared memory in " + folder);
            }
        }
    }
}

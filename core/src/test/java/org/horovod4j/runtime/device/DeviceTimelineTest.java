package org.horovod4j.runtime.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.horovod4j.testing.DeviceWorlds.onDevice;
import static org.horovod4j.testing.DeviceWorlds.stream;

import org.horovod4j.ReduceOp;
import org.horovod4j.testing.DeviceWorlds;
import org.horovod4j.testing.FakeBackendProvider;
import org.horovod4j.testsupport.ParsedTrace;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;

class DeviceTimelineTest {
    @TempDir Path folder;

    @Test
    void operationsShowTheirActivitiesOnTheDevice() throws Exception {
        Path file = folder.resolve("timeline.json");
        DeviceWorlds.of(2, new FakeBackendProvider("FAKE"))
                .run(
                        comm -> {
                            if (comm.rank() == 0) {
                                comm.startTimeline(file, false);
                            }
                            comm.barrier();
                            for (int step = 0; step < 3; step++) {
                                comm.allreduce(
                                        "gradient",
                                        onDevice(comm, 1).readyOn(stream(comm)),
                                        ReduceOp.SUM);
                            }
                            comm.allgather("rows", onDevice(comm, 1));
                            if (comm.rank() == 0) {
                                comm.stopTimeline();
                            }
                        });
        ParsedTrace trace = ParsedTrace.of(file);
        trace.assertNested();
        assertThat(trace.on("process set 0", "X"))
                .containsSubsequence(
                        "WAIT_FOR_DATA",
                        "INIT_FAKE",
                        "WAIT_FOR_DATA",
                        "MEMCPY_IN_FUSION_BUFFER",
                        "FAKE_ALLREDUCE",
                        "MEMCPY_OUT_FUSION_BUFFER")
                .contains("INIT_HOST", "MEMCPY_IN_HOST_BUFFER", "HOST_ALLGATHER");
    }
}

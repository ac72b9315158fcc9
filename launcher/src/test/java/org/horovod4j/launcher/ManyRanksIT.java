package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.time.Duration;

/// Far more ranks than cores: slow starts must not count as failures.
@Tag("slow")
class ManyRanksIT {
    @Test
    void sixtyFourRanksMeetInABarrier() throws Exception {
        try (LauncherProcess launcher =
                LauncherProcess.start(
                        "-np",
                        "64",
                        "--start-timeout",
                        "300",
                        "java",
                        "-cp",
                        TestJvm.CLASS_PATH,
                        InitShutdownProgram.class.getName())) {
            assertThat(launcher.exitCode(Duration.ofMinutes(10))).as(launcher.stderr()).isZero();
            assertThat(launcher.stderr()).isEmpty();
        }
    }
}

package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/// A stall report shows where the program of a missing rank is.
class StallStackIT {
    @Test
    void stackOfMissingRankIsShown() throws Exception {
        try (LauncherProcess launcher =
                LauncherProcess.start(
                        TestCommands.job(
                                "-np 2 --stall-check-warning-time-seconds 1"
                                        + " --stall-check-shutdown-time-seconds 5",
                                SleepingRank.class))) {
            assertThat(launcher.exitCode()).isEqualTo(HorovodRun.FAILURE);
            assertThat(launcher.stderr())
                    .containsPattern(
                            "(?s)rank 1 has nothing in flight: its program is doing something else"
                                    + "[^\\n]*\\n[^\\n]*    thread main, WAITING\\n"
                                    + ".*at org.horovod4j.launcher.SleepingRank.waitForData\\(SleepingRank.java:\\d+\\)\\n"
                                    + ".*at org.horovod4j.launcher.SleepingRank.main\\(SleepingRank.java:\\d+\\)\\n");
        }
    }
}

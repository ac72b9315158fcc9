package org.horovod4j.runtime.stall;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.util.stream.IntStream;

class ProgramThreadTest {
    private static StackTraceElement frame(String type, String method, int line) {
        return new StackTraceElement(type, method, "X.java", line);
    }

    @Test
    void ownFramesAreFoldedIntoTheCallOfTheProgram() {
        assertThat(
                        ProgramThread.of(
                                "main",
                                Thread.State.WAITING,
                                frame("java.util.concurrent.locks.LockSupport", "park", 221),
                                frame("org.horovod4j.runtime.cycle.CycleAgent", "await", 250),
                                frame("org.horovod4j.runtime.RankCommunicator", "allreduce", 90),
                                frame("org.horovod4j.Hvd", "allreduce", 130),
                                frame("com.example.Train", "main", 12)))
                .get()
                .extracting(thread -> thread.describe(""))
                .isEqualTo(
                        """

                        thread main, WAITING
                          at java.util.concurrent.locks.LockSupport.park(X.java:221)
                          at org.horovod4j.Hvd.allreduce(X.java:130)
                          at com.example.Train.main(X.java:12)""");
    }

    @Test
    void threadWithoutCodeOfTheProgramIsLeftOut() {
        assertThat(
                        ProgramThread.of(
                                "pool-1-thread-1",
                                Thread.State.WAITING,
                                frame("jdk.internal.misc.Unsafe", "park", -2),
                                frame("java.lang.Thread", "run", 1474)))
                .isEmpty();
        assertThat(
                        ProgramThread.of(
                                "other",
                                Thread.State.RUNNABLE,
                                frame("org.horovod4j.runtime.Rank", "run", 1)))
                .isEmpty();
    }

    @Test
    void longStackIsCut() {
        StackTraceElement[] frames =
                IntStream.range(0, 40)
                        .mapToObj(line -> frame("com.example.Tree", "visit", line))
                        .toArray(StackTraceElement[]::new);
        ProgramThread thread =
                ProgramThread.of("main", Thread.State.RUNNABLE, frames).orElseThrow();
        assertThat(thread.frames()).hasSize(13).endsWith("… 28 more");
    }

    /// This test is code of Horovod4J, so its own thread counts as one without a program.
    @Test
    void threadsOfHorovod4jAreNotCaptured() {
        assertThat(ProgramThread.capture())
                .extracting(ProgramThread::name)
                .noneMatch(name -> name.startsWith("hvd-"));
    }
}

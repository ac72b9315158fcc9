package org.horovod4j.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.Communicator;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

class JitWarmUpTest {
    /// Runs steps of one second. The compilers are active for `first` milliseconds in the first
    /// step, and for half as long in each following step.
    private static double run(Communicator comm, long first, AtomicInteger steps, int most)
            throws IOException {
        AtomicLong compiled = new AtomicLong();
        AtomicLong now = new AtomicLong();
        return new JitWarmUp(comm, compiled::get, now::get)
                .run(
                        () -> {
                            compiled.addAndGet(first >> steps.getAndIncrement());
                            now.addAndGet(1_000_000_000);
                        },
                        most);
    }

    @Test
    void runsUntilCompilersAreIdleOnAllRanks() {
        World.run(
                2,
                comm -> {
                    AtomicInteger steps = new AtomicInteger();
                    // On rank 1: 512 ms, 256, 128, 64, 32, 16, 8, and 4 ms of the last second.
                    double share = run(comm, comm.rank() == 1 ? 512 : 0, steps, 100);
                    assertThat(steps).hasValue(8);
                    assertThat(share).isEqualTo(0.004);
                });
    }

    @Test
    void stopsAtTheMaximumNumberOfRuns() {
        World.run(
                1,
                comm -> {
                    AtomicInteger steps = new AtomicInteger();
                    assertThat(run(comm, 512, steps, 3)).isEqualTo(0.128);
                    assertThat(steps).hasValue(3);
                });
    }

    @Test
    void readsCompilationTimeOfThisJvm() {
        World.run(
                1,
                comm -> {
                    AtomicInteger steps = new AtomicInteger();
                    double share = JitWarmUp.of(comm).run(() -> steps.incrementAndGet(), 1);
                    assertThat(share).isNotNegative();
                    assertThat(steps).hasValue(1);
                });
    }
}

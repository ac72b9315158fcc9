package org.horovod4j;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.runtime.HvdRuntime;
import org.horovod4j.runtime.UncaughtExceptionReporter;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/// What [Hvd#init] installs in the JVM.
class JvmHooksTest {
    private final Thread.UncaughtExceptionHandler before =
            Thread.getDefaultUncaughtExceptionHandler();

    @AfterEach
    void restore() {
        Thread.setDefaultUncaughtExceptionHandler(before);
    }

    /// The reporter of a process that is not ending and lacks no other rank.
    private static UncaughtExceptionReporter running() {
        return new UncaughtExceptionReporter(() -> false, () -> false);
    }

    private static void throwUncaught(RuntimeException thrown) throws InterruptedException {
        Thread thread =
                Thread.ofPlatform()
                        .start(
                                () -> {
                                    throw thrown;
                                });
        thread.join();
    }

    @Test
    void endOfProcessIsNoFailureOfItsThreads() throws InterruptedException {
        List<Throwable> reported = new ArrayList<>();
        Thread.setDefaultUncaughtExceptionHandler((_, thrown) -> reported.add(thrown));
        UncaughtExceptionReporter reporter = new UncaughtExceptionReporter(() -> true, () -> false);
        reporter.install();
        throwUncaught(new ShutDownException("this rank has left the job"));
        throwUncaught(new IllegalStateException(new ShutDownException("this rank has left")));
        assertThat(reported).isEmpty();
        assertThat(reporter.reason()).isEqualTo("its process has ended");
        IllegalStateException other = new IllegalStateException("a hook of the program fails");
        throwUncaught(other);
        assertThat(reported).containsExactly(other);
    }

    @Test
    void reporterCallsTheHandlerThatWasThereBefore() throws InterruptedException {
        List<Throwable> reported = new ArrayList<>();
        Thread.setDefaultUncaughtExceptionHandler((_, thrown) -> reported.add(thrown));
        UncaughtExceptionReporter reporter = running();
        reporter.install();
        assertThat(reporter.reason()).isEqualTo("its process has ended");
        IllegalStateException failure = new IllegalStateException("bad data");
        Thread thread =
                Thread.ofPlatform()
                        .start(
                                () -> {
                                    throw failure;
                                });
        thread.join();
        assertThat(reported).containsExactly(failure);
        assertThat(reporter.reason())
                .isEqualTo("its program failed: java.lang.IllegalStateException: bad data");
    }

    @Test
    void twoReportersKeepTheirOwnReasons() throws InterruptedException {
        Thread.setDefaultUncaughtExceptionHandler((_, _) -> {});
        UncaughtExceptionReporter first = running();
        UncaughtExceptionReporter second = running();
        first.install();
        Thread thread =
                Thread.ofPlatform()
                        .start(
                                () -> {
                                    throw new IllegalStateException("bad data");
                                });
        thread.join();
        assertThat(first.reason()).contains("bad data");
        assertThat(second.reason()).isEqualTo("its process has ended");
    }

    @Test
    void oneOptionSwitchesHooksOff() {
        try (HvdRuntime with = HvdRuntime.of(Map.of());
                HvdRuntime without = HvdRuntime.of(Map.of("HOROVOD_JVM_HOOKS", "0"))) {
            assertThat(with.hasJvmHooks()).isTrue();
            assertThat(without.hasJvmHooks()).isFalse();
        }
    }

    @Test
    void initWithoutHooksLeavesTheHandlerAlone() {
        Hvd.init(Map.of("HOROVOD_JVM_HOOKS", "0"));
        try {
            assertThat(Thread.getDefaultUncaughtExceptionHandler()).isSameAs(before);
        } finally {
            Hvd.shutdown();
        }
    }
}

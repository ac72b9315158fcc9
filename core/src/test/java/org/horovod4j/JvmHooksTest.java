package org.horovod4j;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.runtime.HvdRuntime;
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

    @Test
    void reporterCallsTheHandlerThatWasThereBefore() throws InterruptedException {
        List<Throwable> reported = new ArrayList<>();
        Thread.setDefaultUncaughtExceptionHandler((_, thrown) -> reported.add(thrown));
        UncaughtExceptionReporter reporter = new UncaughtExceptionReporter();
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
        UncaughtExceptionReporter first = new UncaughtExceptionReporter();
        UncaughtExceptionReporter second = new UncaughtExceptionReporter();
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

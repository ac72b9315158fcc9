package org.horovod4j.testsupport;

import org.awaitility.Awaitility;
import org.junit.platform.launcher.LauncherSession;
import org.junit.platform.launcher.LauncherSessionListener;

import java.time.Duration;

/// Gives `await()` 50 seconds in the tests of all modules. On a busy machine, Awaitility's own ten
/// seconds can be too short. Many tests have a `@Timeout` of a minute, which cannot say what was awaited.
///
/// JUnit finds this class through `META-INF/services`.
public final class DefaultAwaitTimeout implements LauncherSessionListener {
    static final Duration TIMEOUT = Duration.ofSeconds(50);

    @Override
    public void launcherSessionOpened(LauncherSession session) {
        Awaitility.setDefaultTimeout(TIMEOUT);
    }
}

package org.horovod4j.testsupport;

import org.awaitility.Awaitility;
import org.junit.platform.launcher.LauncherSession;
import org.junit.platform.launcher.LauncherSessionListener;

import java.time.Duration;

/// Gives `await()` one minute in the tests of all modules. On a busy machine, Awaitility's own ten
/// seconds can be too short.
///
/// JUnit finds this class through `META-INF/services`.
public final class DefaultAwaitTimeout implements LauncherSessionListener {
    static final Duration TIMEOUT = Duration.ofMinutes(1);

    @Override
    public void launcherSessionOpened(LauncherSession session) {
        Awaitility.setDefaultTimeout(TIMEOUT);
    }
}

package org.horovod4j.launcher;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.command.Invocation.Elasticity;
import org.horovod4j.launcher.driver.Cooldown;
import org.horovod4j.launcher.driver.ElasticLimits;
import org.horovod4j.launcher.plan.Login;
import org.jspecify.annotations.Nullable;

/// The settings of elastic jobs that a program gives a [Launcher].
final class ElasticSettings {
    private @Nullable Integer minProcesses;
    private @Nullable Integer maxProcesses;
    private @Nullable Integer resetLimit;
    private @Nullable Integer slotsPerHost;
    private @Nullable String script;
    private @Nullable Cooldown cooldown;

    void minProcesses(int count) {
        minProcesses = atLeast("minProcesses", count, 1);
    }

    void maxProcesses(int count) {
        maxProcesses = atLeast("maxProcesses", count, 1);
    }

    void resetLimit(int count) {
        resetLimit = atLeast("resetLimit", count, 0);
    }

    void slotsPerHost(int count) {
        slotsPerHost = atLeast("slotsPerHost", count, 1);
    }

    void script(String command) {
        script = command;
    }

    void cooldown(Cooldown range) {
        cooldown = range;
    }

    private static int atLeast(String method, int count, int min) {
        if (count < min) {
            throw new ConfigurationException(
                    "%s(%d): give a number of %d or more.".formatted(method, count, min));
        }
        return count;
    }

    boolean hasDiscovery() {
        return script != null;
    }

    /// Whether the program has called any of these.
    boolean isAnySet() {
        return minProcesses != null
                || maxProcesses != null
                || resetLimit != null
                || slotsPerHost != null
                || script != null
                || cooldown != null;
    }

    /// @param processes how many the job starts with
    /// @throws ConfigurationException when the limits contradict each other
    Elasticity elasticity(int processes, Login login) {
        int most = hasDiscovery() ? ElasticLimits.UNLIMITED : processes;
        return new Elasticity(
                new ElasticLimits(
                        processes,
                        orElse(minProcesses, processes),
                        orElse(maxProcesses, most),
                        orElse(resetLimit, ElasticLimits.UNLIMITED)),
                cooldown == null ? Cooldown.DEFAULT : cooldown,
                script,
                slotsPerHost,
                login);
    }

    private static int orElse(@Nullable Integer value, int other) {
        return value == null ? other : value;
    }
}

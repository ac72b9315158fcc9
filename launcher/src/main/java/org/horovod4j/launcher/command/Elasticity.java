package org.horovod4j.launcher.command;

import org.horovod4j.launcher.driver.Cooldown;
import org.horovod4j.launcher.driver.ElasticLimits;
import org.horovod4j.launcher.plan.Login;
import org.jspecify.annotations.Nullable;

/// How the workers of a job may come and go.
///
/// @param script prints the hosts there are; null when they are always those of the launch
/// @param slotsPerHost of hosts that it prints without; null if it may not
/// @param login how to log in to the hosts that it prints
public record Elasticity(
        ElasticLimits elasticLimits,
        Cooldown cooldown,
        @Nullable String script,
        @Nullable Integer slotsPerHost,
        Login login) {}

package org.horovod4j.launcher.command;

import org.horovod4j.launcher.driver.Cooldown;
import org.horovod4j.launcher.driver.ElasticLimits;
import org.horovod4j.launcher.plan.Login;
import org.jspecify.annotations.Nullable;

/// The elastic settings of a job.
///
/// @param script a command that prints the available hosts; null if the hosts are fixed
/// @param slotsPerHost the slots of a host that the script prints without slots; null if it must
///     print them
/// @param login how to log in to the discovered hosts
public record Elasticity(
        ElasticLimits elasticLimits,
        Cooldown cooldown,
        @Nullable String script,
        @Nullable Integer slotsPerHost,
        Login login) {}

package org.horovod4j.launcher.command;

import static org.horovod4j.launcher.command.LauncherFlag.COOLDOWN_RANGE;
import static org.horovod4j.launcher.command.LauncherFlag.DISCOVERY_SCRIPT;
import static org.horovod4j.launcher.command.LauncherFlag.MAX_PROCESSES;
import static org.horovod4j.launcher.command.LauncherFlag.MIN_PROCESSES;
import static org.horovod4j.launcher.command.LauncherFlag.RESET_LIMIT;
import static org.horovod4j.launcher.command.LauncherFlag.SLOTS_PER_HOST;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.driver.Cooldown;
import org.horovod4j.launcher.driver.ElasticLimits;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.HostPlan;
import org.horovod4j.launcher.plan.Login;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/// The elastic part of a launch request.
///
/// @param fileFlags the flags from the job file
record ElasticRequest(ParsedArguments arguments, Map<LauncherFlag, List<String>> fileFlags) {
    /// Whether a script discovers hosts while the job runs.
    boolean hasDiscovery() {
        return has(DISCOVERY_SCRIPT);
    }

    /// The smallest number of processes with which the job continues, if given.
    Optional<Integer> minProcesses() {
        return count(MIN_PROCESSES, 1);
    }

    /// The elasticity of the job; empty if it is not elastic.
    ///
    /// @param processes the number of processes at the start
    /// @param hosts the hosts, if no script discovers them
    Optional<Elasticity> elasticity(
            int processes, List<Host> hosts, Controller controller, Login login) {
        if (!has(MIN_PROCESSES) && !hasDiscovery() && fileFlags.isEmpty()) {
            return Optional.empty();
        }
        if (controller instanceof Controller.Mpi) {
            throw new ConfigurationException(
                    "--mpi cannot run an elastic job, because mpirun ends all processes when one fails."
                            + " Leave out --mpi, or the flags of elastic jobs.");
        }
        if (!hasDiscovery()) {
            var _ = HostPlan.of(hosts, processes); // throws if they do not fit
        }
        int minProcesses = minProcesses().orElse(processes);
        ElasticLimits elasticLimits =
                new ElasticLimits(
                        processes,
                        minProcesses,
                        count(MAX_PROCESSES, 1)
                                .orElse(
                                        hasDiscovery()
                                                ? ElasticLimits.UNLIMITED
                                                : Math.max(minProcesses, processes)),
                        count(RESET_LIMIT, 0).orElse(ElasticLimits.UNLIMITED));
        return Optional.of(
                new Elasticity(
                        elasticLimits,
                        cooldown(),
                        value(DISCOVERY_SCRIPT).orElse(null),
                        count(SLOTS_PER_HOST, 1).orElse(null),
                        login));
    }

    private Cooldown cooldown() {
        List<String> range = values(COOLDOWN_RANGE);
        if (range.isEmpty()) {
            return Cooldown.DEFAULT;
        }
        List<Integer> seconds =
                range.stream()
                        .map(text -> LaunchRequest.parseCount(COOLDOWN_RANGE, text, 1))
                        .toList();
        return new Cooldown(
                Duration.ofSeconds(seconds.getFirst()), Duration.ofSeconds(seconds.getLast()));
    }

    private Optional<Integer> count(LauncherFlag flag, int min) {
        return value(flag).map(text -> LaunchRequest.parseCount(flag, text, min));
    }

    private boolean has(LauncherFlag flag) {
        return arguments.has(flag) || fileFlags.containsKey(flag);
    }

    private Optional<String> value(LauncherFlag flag) {
        return arguments
                .value(flag)
                .or(() -> fileFlags.getOrDefault(flag, List.of()).stream().findFirst());
    }

    private List<String> values(LauncherFlag flag) {
        return arguments.has(flag)
                ? arguments.values(flag)
                : fileFlags.getOrDefault(flag, List.of());
    }
}

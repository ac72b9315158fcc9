package org.horovod4j.launcher.command;

import static org.horovod4j.launcher.command.LauncherFlag.COOLDOWN_RANGE;
import static org.horovod4j.launcher.command.LauncherFlag.DISCOVERY_SCRIPT;
import static org.horovod4j.launcher.command.LauncherFlag.LEAST_PROCESSES;
import static org.horovod4j.launcher.command.LauncherFlag.MOST_PROCESSES;
import static org.horovod4j.launcher.command.LauncherFlag.RESET_LIMIT;
import static org.horovod4j.launcher.command.LauncherFlag.SLOTS_PER_HOST;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.elastic.Cooldown;
import org.horovod4j.launcher.elastic.Limits;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.HostPlan;
import org.horovod4j.launcher.plan.Login;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/// The part of a launch that says how its processes may come and go.
///
/// @param file what a job file says in place of flags
record ElasticRequest(Arguments given, Map<LauncherFlag, List<String>> file) {
    /// Whether hosts are found while the job runs.
    boolean finds() {
        return has(DISCOVERY_SCRIPT);
    }

    /// With how many processes the job goes on, if it says so.
    Optional<Integer> least() {
        return count(LEAST_PROCESSES, 1);
    }

    /// Empty for a job that keeps its processes.
    ///
    /// @param processes how many it starts with
    /// @param hosts where, unless a script finds them
    Optional<Elasticity> elasticity(
            int processes, List<Host> hosts, Controller controller, Login login) {
        if (!has(LEAST_PROCESSES) && !finds() && file.isEmpty()) {
            return Optional.empty();
        }
        if (controller instanceof Controller.Mpi) {
            throw new ConfigurationException(
                    "--mpi cannot run an elastic job, since mpirun ends all processes when one fails."
                            + " Leave it out, or the flags of elastic jobs.");
        }
        if (!finds()) {
            var _ = HostPlan.of(hosts, processes); // says so if they do not fit
        }
        int least = least().orElse(processes);
        Limits limits =
                new Limits(
                        processes,
                        least,
                        count(MOST_PROCESSES, 1)
                                .orElse(finds() ? Limits.NONE : Math.max(least, processes)),
                        count(RESET_LIMIT, 0).orElse(Limits.NONE));
        return Optional.of(
                new Elasticity(
                        limits,
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
                range.stream().map(text -> LaunchRequest.number(COOLDOWN_RANGE, text, 1)).toList();
        return new Cooldown(
                Duration.ofSeconds(seconds.getFirst()), Duration.ofSeconds(seconds.getLast()));
    }

    private Optional<Integer> count(LauncherFlag flag, int least) {
        return value(flag).map(text -> LaunchRequest.number(flag, text, least));
    }

    private boolean has(LauncherFlag flag) {
        return given.has(flag) || file.containsKey(flag);
    }

    private Optional<String> value(LauncherFlag flag) {
        return given.value(flag).or(() -> file.getOrDefault(flag, List.of()).stream().findFirst());
    }

    private List<String> values(LauncherFlag flag) {
        return given.has(flag) ? given.values(flag) : file.getOrDefault(flag, List.of());
    }
}

package org.horovod4j.launcher.command;

import org.horovod4j.option.Environment;
import org.horovod4j.option.RuntimeOptions;

import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/// A feature, and the flags that have an effect only with it. A flag without its feature is
/// reported, so that the user does not wait for an effect.
///
/// Flags that turn something off are not listed: without the feature it is off anyway.
enum FlagPrerequisite {
    MPI("--mpi", "--mpi-args", "--binding-args", "--tcp"),
    ELASTIC(
            "--min-np or --host-discovery-script",
            "--max-np",
            "--reset-limit",
            "--blacklist-cooldown-range",
            "--elastic-timeout"),
    DISCOVERY("--host-discovery-script", "--slots-per-host"),
    STALL_CHECK(
            "--stall-check",
            "--stall-check-warning-time-seconds",
            "--stall-check-shutdown-time-seconds"),
    TIMELINE("--timeline-filename", "--timeline-mark-cycles"),
    ANY_TIMELINE(
            "--timeline-filename, unless the program starts a timeline itself",
            "--timeline-all-ranks",
            "--timeline-max-bytes"),
    AUTOTUNE(
            "--autotune",
            "--autotune-log-file",
            "--autotune-warmup-samples",
            "--autotune-steps-per-sample",
            "--autotune-bayes-opt-max-samples",
            "--autotune-gaussian-process-noise",
            "--autotune-file");

    private final String name;

    // Immutable: created by List.of.
    @SuppressWarnings("ImmutableEnumChecker")
    private final List<String> flags;

    FlagPrerequisite(String name, String... flags) {
        this.name = name;
        this.flags = List.of(flags);
    }

    List<String> flags() {
        return flags;
    }

    /// Reports each flag that has no effect.
    ///
    /// @param options the environment of the processes
    static void reportIneffective(
            ParsedArguments parsed,
            Invocation.Launch launch,
            Environment options,
            Consumer<String> notices) {
        for (FlagPrerequisite each : values()) {
            for (String flag : each.flags) {
                if (parsed.hasFlag(flag) && !each.isOn(launch, options)) {
                    notices.accept("%s has no effect without %s.".formatted(flag, each.name));
                }
            }
        }
    }

    /// The variables that its flags set.
    Set<String> variables() {
        return flags.stream()
                .flatMap(flag -> OptionFlag.named(flag.substring(2)).stream())
                .map(flag -> flag.option().variable())
                .collect(Collectors.toSet());
    }

    private boolean isOn(Invocation.Launch launch, Environment options) {
        return switch (this) {
            case MPI -> launch.controller() instanceof Invocation.Controller.Mpi;
            case ELASTIC -> launch.elasticity().isPresent();
            case DISCOVERY -> launch.elasticity().filter(it -> it.script() != null).isPresent();
            case STALL_CHECK -> !options.get(RuntimeOptions.STALL_CHECK_DISABLE);
            case TIMELINE, ANY_TIMELINE -> options.isSet(RuntimeOptions.TIMELINE);
            case AUTOTUNE -> options.get(RuntimeOptions.AUTOTUNE);
        };
    }
}

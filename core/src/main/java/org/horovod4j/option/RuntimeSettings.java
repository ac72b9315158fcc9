package org.horovod4j.option;

import org.horovod4j.ConfigurationException;
import org.horovod4j.log.LogSettings;
import org.horovod4j.spi.Tuning;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;

/// How a rank runs operations, and what it checks and records.
///
/// @param tuning the initial values of the tuning
/// @param fixed the parts of the tuning that the user has set, which nothing else may change
/// @param cacheCapacity how many requests are cached; 0 for none
/// @param groupFusion whether groups may be fused with other operations
/// @param planLocking whether repeated steps run without negotiation
/// @param helperThreads how many threads help with large tensors; empty to use idle cores
/// @param streamingStores whether ranks bypass the caches when they write for each other
/// @param hostProcessors the processors of the host; empty for those that the JVM sees
/// @param tls whether connections are encrypted
/// @param joinAverage the divisor of an average while some ranks have joined
/// @param threadAffinity the processor of each rank of a host; empty to bind no thread
public record RuntimeSettings(
        Tuning tuning,
        Set<KnobOption> fixed,
        int cacheCapacity,
        boolean groupFusion,
        boolean planLocking,
        OptionalInt helperThreads,
        StreamingStoresChoice streamingStores,
        OptionalInt hostProcessors,
        boolean tls,
        JoinAverage joinAverage,
        List<Integer> threadAffinity,
        StallSettings stall,
        TimelineSettings timeline,
        AutotuneSettings autotune,
        LogSettings log,
        FrameworkSettings framework,
        BackendSettings backends) {
    /// The settings when nothing is set.
    public static final RuntimeSettings DEFAULT = from(new Environment(Map.of()));

    public RuntimeSettings {
        fixed = Set.copyOf(fixed);
        threadAffinity = List.copyOf(threadAffinity);
        if (cacheCapacity < 0) {
            throw new IllegalArgumentException(
                    "the cache capacity must not be negative, but is " + cacheCapacity);
        }
    }

    /// Reads the settings.
    ///
    /// @throws ConfigurationException when a value is not allowed
    public static RuntimeSettings from(Environment environment) {
        return new RuntimeSettings(
                tuning(environment),
                KnobOption.setIn(environment),
                environment.get(RuntimeOptions.CACHE_CAPACITY),
                !environment.get(RuntimeOptions.DISABLE_GROUP_FUSION),
                environment.get(RuntimeOptions.PLAN_LOCKING),
                find(environment, RuntimeOptions.HELPER_THREADS),
                environment.get(RuntimeOptions.STREAMING_STORES),
                find(environment, Options.HOST_PROCESSORS),
                environment.get(Options.TLS),
                environment.get(RuntimeOptions.JOIN_AVERAGE),
                threadAffinity(environment),
                StallSettings.from(environment),
                TimelineSettings.from(environment),
                AutotuneSettings.from(environment),
                log(environment),
                FrameworkSettings.from(environment),
                BackendSettings.from(environment));
    }

    private static OptionalInt find(Environment environment, Option<Integer> option) {
        return environment.find(option).map(OptionalInt::of).orElse(OptionalInt.empty());
    }

    /// The same for one generation of an elastic job.
    RuntimeSettings forGeneration(int generation) {
        return new RuntimeSettings(
                tuning,
                fixed,
                cacheCapacity,
                groupFusion,
                planLocking,
                helperThreads,
                streamingStores,
                hostProcessors,
                tls,
                joinAverage,
                threadAffinity,
                stall,
                timeline.forGeneration(generation),
                autotune,
                log,
                framework,
                backends);
    }

    /// Read separately too, so that warnings about all other settings can be logged.
    public static LogSettings log(Environment environment) {
        return new LogSettings(
                environment.find(RuntimeOptions.LOG_LEVEL).orElse(null),
                !environment.get(RuntimeOptions.LOG_HIDE_TIME));
    }

    private static List<Integer> threadAffinity(Environment environment) {
        List<Integer> processors = new ArrayList<>();
        String text = environment.find(RuntimeOptions.THREAD_AFFINITY).orElse("");
        if (!text.isEmpty()) {
            for (String number : text.split(",", -1)) {
                processors.add(Integer.valueOf(number));
            }
        }
        return processors;
    }

    private static Tuning tuning(Environment environment) {
        return new Tuning(
                environment.get(RuntimeOptions.FUSION_THRESHOLD),
                environment.get(RuntimeOptions.CYCLE_TIME),
                environment.get(RuntimeOptions.ROUND_BYTES),
                environment.get(RuntimeOptions.RING_BYTES),
                environment.get(Options.TCP_STREAMS));
    }
}

package org.horovod4j.runtime.backend;

import org.horovod4j.ConfigurationException;
import org.horovod4j.Device;
import org.horovod4j.HorovodException;
import org.horovod4j.log.Log;
import org.horovod4j.option.BackendSettings;
import org.horovod4j.runtime.controller.ProcessSetState;
import org.horovod4j.runtime.timeline.ActivityLog;
import org.horovod4j.spi.Backend;
import org.horovod4j.spi.BackendProvider;
import org.horovod4j.spi.CancellableBackend;
import org.horovod4j.spi.DevicePlace;
import org.horovod4j.spi.HostBackend;
import org.horovod4j.spi.HostBackendProvider;
import org.horovod4j.spi.HostContext;
import org.horovod4j.spi.RankInfo;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.concurrent.ThreadFactory;
import java.util.function.Function;

/// The backends for tensors in main memory: that of core, and those on the class path.
///
/// @param processSet the number of the process set
/// @param rank this rank in the set
/// @param members of the set, by rank in the set
/// @param state of the set
/// @param activities receives what the backends do
/// @param reportFailure reports a failure to the other ranks, and returns the exception for this program
/// @param threadFactory creates the thread that watches a backend
public record HostBackends(
        int processSet,
        int rank,
        List<RankInfo> members,
        ProcessSetState state,
        ActivityLog activities,
        Function<Throwable, HorovodException> reportFailure,
        ThreadFactory threadFactory) {
    private static final Logger LOG = Log.of(HostBackends.class);

    public HostBackends {
        members = List.copyOf(members);
    }

    /// Finds the backends on the class path or module path, next to the classes of core.
    public static List<HostBackendProvider> load() {
        Class<HostBackendProvider> service = HostBackendProvider.class;
        return ServiceLoader.load(service, service.getClassLoader()).stream()
                .map(ServiceLoader.Provider::get)
                .toList();
    }

    /// Stands for the backend of core in the choice.
    private static final class CpuProvider implements BackendProvider {
        private interface AllCollectives
                extends HostBackend,
                        Backend.SupportsAllreduce,
                        Backend.SupportsAdasum,
                        Backend.SupportsReducescatter,
                        Backend.SupportsAllgather,
                        Backend.SupportsBroadcast,
                        Backend.SupportsAlltoall {}

        @Override
        public String name() {
            return "CPU";
        }

        @Override
        public Device.Kind kind() {
            return Device.Kind.HOST;
        }

        @Override
        public int preference() {
            return 0;
        }

        @Override
        public Class<? extends Backend> backendType() {
            return AllCollectives.class;
        }

        @Override
        public String describe() {
            return "shared memory and TCP";
        }

        @Override
        public boolean isAvailable() {
            return true;
        }

        @Override
        public Optional<String> unsupportedReason(List<DevicePlace> places) {
            return Optional.empty();
        }
    }

    /// Chooses backends together with the other ranks of the process set, which call this at the same
    /// time, and creates them.
    ///
    /// @param cpu the backend of core
    /// @param found those on the class path of this rank
    /// @return `cpu` itself if it runs everything
    /// @throws ConfigurationException if options differ, or name what a rank cannot use; on all ranks
    public CancellableBackend choose(
            CancellableBackend cpu, List<HostBackendProvider> found, BackendSettings settings) {
        List<BackendProvider> providers = new ArrayList<>(found);
        providers.add(new CpuProvider());
        providers.sort(
                Comparator.comparingInt(BackendProvider::preference)
                        .reversed()
                        .thenComparing(BackendProvider::name));
        Map<String, HostBackend> created = new LinkedHashMap<>();
        BackendMonitor monitor =
                new BackendMonitor(threadFactory, state, created::values, reportFailure);
        LaunchHostCollectives host =
                new LaunchHostCollectives(cpu, rank, members.size(), monitor::checkLaunch);
        RankInfo self = members.get(rank);
        BackendChoice<BackendProvider> choice =
                BackendChoice.agree(
                        host,
                        BackendChoice.Offer.of(
                                new DevicePlace(
                                        self.rank(),
                                        self.machine(),
                                        self.domain(),
                                        Device.HOST,
                                        "",
                                        BackendChoice.processInfo(providers)),
                                providers,
                                settings),
                        providers);
        try {
            for (BackendProvider each : choice.chosen()) {
                if (each instanceof HostBackendProvider provider) {
                    created.put(
                            provider.name(),
                            provider.create(new HostContext(host, choice.places())));
                }
            }
        } catch (RuntimeException | Error e) {
            Cleanup cleanup = new Cleanup(e);
            created.values().forEach(each -> cleanup.run(each::close));
            throw e;
        }
        LOG.log(
                created.isEmpty() ? Level.DEBUG : Level.INFO,
                () -> "Process set %d in main memory: %s".formatted(processSet, choice.describe()));
        return created.isEmpty()
                ? cpu
                : new MeetingBackend(cpu, host, choice, created, monitor, state, activities);
    }
}

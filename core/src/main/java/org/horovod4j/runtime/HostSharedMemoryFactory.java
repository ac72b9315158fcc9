package org.horovod4j.runtime;

import org.horovod4j.network.MachineIdentity;
import org.horovod4j.option.WorkerSettings;
import org.horovod4j.option.WorkerSettings.TransportChoice;
import org.horovod4j.spi.RankInfo;
import org.horovod4j.transport.SharedMemory;
import org.horovod4j.transport.local.LocalMemoryDomain;
import org.horovod4j.transport.shm.MappedSharedMemory;
import org.jspecify.annotations.Nullable;

import java.nio.file.Path;
import java.util.List;

/// Shares memory between the processes of one host, or keeps it private.
public final class HostSharedMemoryFactory implements SharedMemoryFactory {
    private final String domain;
    private final @Nullable Path folder;

    private HostSharedMemoryFactory(String domain, @Nullable Path folder) {
        this.domain = domain;
        this.folder = folder;
    }

    /// Shares with all ranks of the same domain, in files of `folder`.
    public static HostSharedMemoryFactory within(String domain, Path folder) {
        return new HostSharedMemoryFactory(domain, folder);
    }

    /// Memory that no other rank can map.
    public static HostSharedMemoryFactory disabled() {
        return new HostSharedMemoryFactory("", null);
    }

    static HostSharedMemoryFactory of(WorkerSettings settings) {
        return settings.transport() == TransportChoice.TCP
                ? disabled()
                : within(domainKey(settings.host()), settings.shmFolder());
    }

    /// The key of this rank's memory domain; empty if it shares no memory.
    public String domain() {
        return domain;
    }

    @Override
    public Region open(int channel) {
        return new HostRegion(folder == null ? null : MappedSharedMemory.open(folder));
    }

    /// Processes with the same key see the same `/proc` and may open each other's files: they run
    /// on one kernel, in one process namespace, as one user. If that is unknown, the name of the
    /// host counts.
    private static String domainKey(String host) {
        String place = MachineIdentity.find().map(MachineIdentity::processSpace).orElse(host);
        return place + " " + System.getProperty("user.name", "");
    }

    /// @param memory null if this rank shares no memory
    private record HostRegion(@Nullable MappedSharedMemory memory) implements Region {
        @Override
        public String address() {
            return memory == null ? "" : memory.address();
        }

        @Override
        public SharedMemory map(List<RankInfo> members, int rank) {
            if (memory == null) {
                return new LocalMemoryDomain(List.of(rank)).memory(rank);
            }
            String own = members.get(rank).domain();
            memory.mapRegions(
                    members.stream().filter(rankInfo -> rankInfo.domain().equals(own)).toList(),
                    rank);
            return memory;
        }

        @Override
        public void unlink() {
            if (memory != null) {
                memory.unlink();
            }
        }

        @Override
        public void close() {
            if (memory != null) {
                memory.close();
            }
        }
    }
}

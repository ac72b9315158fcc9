package org.horovod4j.runtime;

import org.horovod4j.spi.RankInfo;
import org.horovod4j.transport.SharedMemory;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/// The shared memory of one rank's process sets. It fails on request.
final class RecordingMemory implements SharedMemoryFactory {
    /// The memory of each process set that was mapped.
    final List<SharedMemory> mapped = new ArrayList<>();

    private final SharedMemoryFactory reliable =
            HostSharedMemoryFactory.within(RanksOfOneHost.HOST, Path.of("/dev/shm"));
    private Runnable beforeOpen = () -> {};
    private Runnable beforeMap = () -> {};

    /// Calls `action` whenever memory is opened.
    void beforeOpen(Runnable action) {
        beforeOpen = action;
    }

    /// Calls `action` whenever memory is mapped.
    void beforeMap(Runnable action) {
        beforeMap = action;
    }

    @Override
    public Region open(int channel) {
        beforeOpen.run();
        Region region = reliable.open(channel);
        return new Region() {
            @Override
            public String address() {
                return region.address();
            }

            @Override
            public SharedMemory map(List<RankInfo> members, int rank) {
                beforeMap.run();
                SharedMemory memory = region.map(members, rank);
                mapped.add(memory);
                return memory;
            }

            @Override
            public void unlink() {
                region.unlink();
            }

            @Override
            public void close() {
                region.close();
            }
        };
    }
}

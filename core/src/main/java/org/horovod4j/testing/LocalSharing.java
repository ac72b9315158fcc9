package org.horovod4j.testing;

import org.horovod4j.runtime.SharedMemoryFactory;
import org.horovod4j.spi.RankInfo;
import org.horovod4j.transport.SharedMemory;
import org.horovod4j.transport.local.LocalMemoryDomain;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/// Shared memory between the ranks of one JVM. All ranks of a world use one instance.
final class LocalSharing implements SharedMemoryFactory {
    private final Map<Key, LocalMemoryDomain> domains = new ConcurrentHashMap<>();

    private record Key(int channel, List<Integer> ranks) {}

    @Override
    public Region open(int channel) {
        return new LocalRegion(channel);
    }

    private final class LocalRegion implements Region {
        private final int channel;

        LocalRegion(int channel) {
            this.channel = channel;
        }

        @Override
        public String address() {
            return "";
        }

        @Override
        public SharedMemory map(List<RankInfo> members, int rank) {
            String own = members.get(rank).domain();
            List<Integer> ranks =
                    members.stream()
                            .filter(rankInfo -> rankInfo.domain().equals(own))
                            .map(RankInfo::rank)
                            .toList();
            return domains.computeIfAbsent(
                            new Key(channel, ranks), key -> new LocalMemoryDomain(key.ranks))
                    .memory(rank);
        }

        @Override
        public void unlink() {}

        @Override
        public void close() {}
    }
}

package org.horovod4j.testing;

import org.horovod4j.runtime.Sharing;
import org.horovod4j.spi.Member;
import org.horovod4j.transport.SharedMemory;
import org.horovod4j.transport.local.LocalDomain;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/// How threads of one JVM share memory: one instance for all ranks of a world.
final class LocalSharing implements Sharing {
    private final Map<Key, LocalDomain> domains = new ConcurrentHashMap<>();

    private record Key(int channel, List<Integer> ranks) {}

    @Override
    public Space open(int channel) {
        return new LocalSpace(channel);
    }

    private final class LocalSpace implements Space {
        private final int channel;

        LocalSpace(int channel) {
            this.channel = channel;
        }

        @Override
        public String address() {
            return "";
        }

        @Override
        public SharedMemory meet(List<Member> members, int rank) {
            String own = members.get(rank).domain();
            List<Integer> ranks =
                    members.stream()
                            .filter(member -> member.domain().equals(own))
                            .map(Member::rank)
                            .toList();
            return domains.computeIfAbsent(
                            new Key(channel, ranks), key -> new LocalDomain(key.ranks))
                    .memory(rank);
        }

        @Override
        public void met() {}

        @Override
        public void close() {}
    }
}

package org.horovod4j.transport.local;

import org.horovod4j.transport.ByteRing;

import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/// The rings between all ranks of one world in one JVM.
public final class LocalRings {
    private final Map<Integer, ChannelRings> channels = new ConcurrentHashMap<>();

    ChannelRings channel(int id) {
        return channels.computeIfAbsent(id, _ -> new ChannelRings());
    }

    /// The rings of one channel. A ring is kept until both ends have left its epoch: one end may
    /// have written everything and closed before the other end asks for the ring.
    static final class ChannelRings {
        private final Map<RingKey, ByteRing> rings = new HashMap<>();
        private final Map<Integer, Integer> epochs = new HashMap<>();

        private record RingKey(int source, int target, int epoch) {}

        /// The ring from `source` to `target` in `epoch`. It is new and closed if one of them has
        /// already left the epoch without using it.
        synchronized ByteRing ring(int source, int target, int epoch) {
            RingKey ringKey = new RingKey(source, target, epoch);
            ByteRing ring = rings.get(ringKey);
            if (ring == null) {
                ring =
                        new ByteRing(
                                MemorySegment.ofArray(new long[(int) ByteRing.BYTES / Long.BYTES]));
                if (hasAdvancedPast(source, epoch) || hasAdvancedPast(target, epoch)) {
                    ring.close();
                } else {
                    rings.put(ringKey, ring);
                }
            }
            return ring;
        }

        /// Moves `rank` to `epoch` and closes its rings of earlier epochs.
        synchronized void advance(int rank, int epoch) {
            epochs.put(rank, epoch);
            Iterator<Map.Entry<RingKey, ByteRing>> each = rings.entrySet().iterator();
            while (each.hasNext()) {
                Map.Entry<RingKey, ByteRing> entry = each.next();
                RingKey ringKey = entry.getKey();
                boolean sourceLeft = hasAdvancedPast(ringKey.source, ringKey.epoch);
                boolean targetLeft = hasAdvancedPast(ringKey.target, ringKey.epoch);
                if (sourceLeft || targetLeft) {
                    entry.getValue().close();
                }
                if (sourceLeft && targetLeft) {
                    each.remove();
                }
            }
        }

        private boolean hasAdvancedPast(int rank, int epoch) {
            return epochs.getOrDefault(rank, 0) > epoch;
        }
    }
}

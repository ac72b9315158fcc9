package org.horovod4j.collectives;

import org.horovod4j.collectives.algorithm.StagedAllgather;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.transport.LocalGroup;
import org.horovod4j.transport.SharedMemory.Location;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.Map;
import java.util.WeakHashMap;

/// Finds the tensors of all ranks of a host when they lie in shared memory on every rank.
///
/// The location of a single tensor fits into the notice of its collective. The locations of several
/// tensors are exchanged through the stages, and the result is cached. Exchanges are numbered. A
/// rank that uses the same tensors in the same memory again posts the number of the exchange in its
/// cache. If all ranks post the same number, all cached results are valid. Otherwise all ranks
/// exchange again.
final class SharedTensorLocator {
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED;

    /// The number of longs in an encoded [Location].
    private static final int LONGS_PER_LOCATION = 4;

    /// The bytes that [#post] writes to the notice.
    static final long PAYLOAD_BYTES = LONGS_PER_LOCATION * Long.BYTES;

    /// Posted instead of a block or an exchange number: the tensors of this rank are not in shared
    /// memory, or this rank has no cached exchange.
    private static final long NOT_SHARED = -1;

    private static final long NO_EXCHANGE = 0;

    /// Below this average size copying costs less than processing each tensor separately.
    private static final long MIN_BYTES_PER_TENSOR = 512;

    private final LocalGroup local;
    private final StagedAllgather gather;
    private final Map<FusedTensors, LocatedTensors> cache = new WeakHashMap<>();
    private long exchanges;

    SharedTensorLocator(LocalGroup local) {
        this.local = local;
        this.gather = new StagedAllgather(local);
    }

    /// Writes to the next notice whether and where the other ranks can access this rank's tensors.
    void post(FusedTensors fusedTensors) {
        MemorySegment mine = local.region(local.index());
        long payload = local.nextPayloadOffset();
        boolean largeEnough =
                fusedTensors.byteSize() >= MIN_BYTES_PER_TENSOR * fusedTensors.tensorCount();
        if (!largeEnough || !fusedTensors.isInPlace()) {
            mine.set(LONG, payload, NOT_SHARED);
        } else if (fusedTensors.tensorCount() == 1) {
            Location location = local.memory().locate(fusedTensors.input(0));
            if (location == null) {
                mine.set(LONG, payload, NOT_SHARED);
            } else {
                write(location, mine, payload);
            }
        } else {
            LocatedTensors cached = cache.get(fusedTensors);
            if (cached != null && cached.matches(fusedTensors)) {
                mine.set(LONG, payload, cached.exchange);
            } else {
                mine.set(LONG, payload, isShared(fusedTensors) ? NO_EXCHANGE : NOT_SHARED);
            }
        }
    }

    /// The tensors of all members, by tensor and then by member. Null if one of them is not in
    /// shared memory. Called after the barrier.
    MemorySegment @Nullable [][] resolve(FusedTensors fusedTensors) {
        boolean sameExchange = true;
        long exchange = posted(local.index());
        for (int member = 0; member < local.size(); member++) {
            long posted = posted(member);
            if (posted == NOT_SHARED) {
                return null;
            }
            sameExchange &= posted == exchange;
        }
        if (fusedTensors.tensorCount() == 1) {
            return new MemorySegment[][] {single(fusedTensors)};
        }
        LocatedTensors cached = cache.get(fusedTensors);
        if (cached == null || !sameExchange || exchange == NO_EXCHANGE) {
            cached = exchange(fusedTensors);
            cache.put(fusedTensors, cached);
        }
        return cached.tensors;
    }

    /// Discards all cached exchanges. All ranks call this together: an interrupted exchange has a
    /// number only on some of them.
    void reset() {
        cache.clear();
        exchanges = 0;
    }

    private boolean isShared(FusedTensors fusedTensors) {
        for (int i = 0; i < fusedTensors.tensorCount(); i++) {
            MemorySegment tensor = fusedTensors.input(i);
            if (tensor.byteSize() > 0 && local.memory().locate(tensor) == null) {
                return false;
            }
        }
        return true;
    }

    private long posted(int member) {
        return local.region(member).get(LONG, local.payloadOffset());
    }

    private MemorySegment[] single(FusedTensors fusedTensors) {
        MemorySegment[] tensor = new MemorySegment[local.size()];
        for (int member = 0; member < tensor.length; member++) {
            tensor[member] =
                    member == local.index()
                            ? fusedTensors.input(0)
                            : local.memory()
                                    .resolve(
                                            member,
                                            read(local.region(member), local.payloadOffset()));
        }
        return tensor;
    }

    private LocatedTensors exchange(FusedTensors fusedTensors) {
        int count = fusedTensors.tensorCount();
        MemorySegment mine = locations(fusedTensors);
        MemorySegment[] allLocations = new MemorySegment[local.size()];
        Arrays.setAll(
                allLocations, _ -> MemorySegment.ofArray(new long[count * LONGS_PER_LOCATION]));
        long[] sizes = new long[local.size()];
        Arrays.fill(sizes, locationOffset(count));
        gather.run(
                (first, length, stage, offset) ->
                        MemorySegment.copy(mine, first, stage, offset, length),
                sizes,
                (member, stage, offset, first, length) ->
                        MemorySegment.copy(stage, offset, allLocations[member], first, length));
        exchanges++;
        MemorySegment[] own = new MemorySegment[count];
        Arrays.setAll(own, fusedTensors::input);
        MemorySegment[][] tensors = new MemorySegment[count][local.size()];
        for (int i = 0; i < count; i++) {
            for (int member = 0; member < local.size(); member++) {
                tensors[i][member] =
                        resolve(member, read(allLocations[member], locationOffset(i)), own[i]);
            }
        }
        return new LocatedTensors(exchanges, own, tensors);
    }

    /// The encoded locations of this rank's tensors. An empty tensor has no location; no rank reads
    /// it.
    private MemorySegment locations(FusedTensors fusedTensors) {
        int count = fusedTensors.tensorCount();
        MemorySegment locations = MemorySegment.ofArray(new long[count * LONGS_PER_LOCATION]);
        for (int i = 0; i < count; i++) {
            Location location = local.memory().locate(fusedTensors.input(i));
            if (location != null) {
                write(location, locations, locationOffset(i));
            }
        }
        return locations;
    }

    private MemorySegment resolve(int member, Location location, MemorySegment own) {
        if (location.byteSize() == 0) {
            return MemorySegment.NULL;
        }
        return member == local.index() ? own : local.memory().resolve(member, location);
    }

    /// The offset of the location of tensor `index` among the locations of a rank.
    private static long locationOffset(int index) {
        return (long) index * LONGS_PER_LOCATION * Long.BYTES;
    }

    private static void write(Location location, MemorySegment memory, long offset) {
        memory.set(LONG, offset, location.block());
        memory.set(LONG, offset + 8, location.blockSize());
        memory.set(LONG, offset + 16, location.offset());
        memory.set(LONG, offset + 24, location.byteSize());
    }

    private static Location read(MemorySegment memory, long offset) {
        return new Location(
                memory.get(LONG, offset),
                memory.get(LONG, offset + 8),
                memory.get(LONG, offset + 16),
                memory.get(LONG, offset + 24));
    }

    /// The result of an exchange, with the memory that this rank contributed.
    private static final class LocatedTensors {
        private final long exchange;
        private final MemorySegment[] own;
        private final MemorySegment[][] tensors;

        LocatedTensors(long exchange, MemorySegment[] own, MemorySegment[][] tensors) {
            this.exchange = exchange;
            this.own = own;
            this.tensors = tensors;
        }

        /// Whether the tensors still use the memory of the exchange. Shared memory is not freed
        /// before the end, so the same address means the same memory.
        boolean matches(FusedTensors fusedTensors) {
            for (int i = 0; i < own.length; i++) {
                if (!own[i].equals(fusedTensors.input(i))) {
                    return false;
                }
            }
            return true;
        }
    }
}

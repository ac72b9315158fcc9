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

/// Finds everybody's tensors when a bundle lies in shared memory on all ranks of a host.
///
/// A single tensor's place fits into the notice of its operation. The places of many are exchanged
/// through the stages, once: exchanges are numbered, and a rank that comes with the same bundle and
/// the same memory again posts the number of the exchange it remembers. When all ranks post the
/// same number, what each remembers still holds; when one does not, all exchange anew.
final class SharedTensorLocator {
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED;

    /// Four numbers make a [Location].
    private static final int LONGS_PER_LOCATION = 4;

    /// Posted instead of a block or an exchange: this rank has to copy, or it has no exchange to go
    /// by.
    private static final long NOT_SHARED = -1;

    private static final long NO_EXCHANGE = 0;

    /// Below this many bytes per tensor it costs more to go from tensor to tensor than to copy
    /// them.
    private static final long MIN_BYTES_PER_TENSOR = 512;

    private final LocalGroup local;
    private final StagedAllgather gather;
    private final Map<FusedTensors, LocatedTensors> tables = new WeakHashMap<>();
    private long exchanges;

    SharedTensorLocator(LocalGroup local) {
        this.local = local;
        this.gather = new StagedAllgather(local);
    }

    /// Writes into the next notice whether, and where, the others can reach this rank's tensors.
    void post(FusedTensors fusedTensors) {
        MemorySegment mine = local.region(local.index());
        long payload = local.nextPayloadOffset();
        boolean worthIt =
                fusedTensors.byteSize() >= MIN_BYTES_PER_TENSOR * fusedTensors.tensorCount();
        if (!worthIt || !fusedTensors.isInPlace()) {
            mine.set(LONG, payload, NOT_SHARED);
        } else if (fusedTensors.tensorCount() == 1) {
            Location location = local.memory().locate(fusedTensors.input(0));
            if (location == null) {
                mine.set(LONG, payload, NOT_SHARED);
            } else {
                write(location, mine, payload);
            }
        } else {
            LocatedTensors known = tables.get(fusedTensors);
            if (known != null && known.matches(fusedTensors)) {
                mine.set(LONG, payload, known.exchange);
            } else {
                mine.set(LONG, payload, isShared(fusedTensors) ? NO_EXCHANGE : NOT_SHARED);
            }
        }
    }

    /// Everybody's tensors after the meeting, tensor by tensor and then by member, or null when one
    /// of them cannot be reached.
    MemorySegment @Nullable [][] resolve(FusedTensors fusedTensors) {
        boolean remembered = true;
        long exchange = posted(local.index());
        for (int member = 0; member < local.size(); member++) {
            long posted = posted(member);
            if (posted == NOT_SHARED) {
                return null;
            }
            remembered &= posted == exchange;
        }
        if (fusedTensors.tensorCount() == 1) {
            return new MemorySegment[][] {single(fusedTensors)};
        }
        LocatedTensors known = tables.get(fusedTensors);
        if (known == null || !remembered || exchange == NO_EXCHANGE) {
            known = exchange(fusedTensors);
            tables.put(fusedTensors, known);
        }
        return known.tensors;
    }

    /// Forgets all exchanges, on all ranks together: one that was under way has a number on some of
    /// them only.
    void reset() {
        tables.clear();
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
        MemorySegment[] everybodys = new MemorySegment[local.size()];
        Arrays.setAll(everybodys, _ -> MemorySegment.ofArray(new long[count * LONGS_PER_LOCATION]));
        long[] sizes = new long[local.size()];
        Arrays.fill(sizes, locationOffset(count));
        gather.run(
                (first, length, stage, offset) ->
                        MemorySegment.copy(mine, first, stage, offset, length),
                sizes,
                (member, stage, offset, first, length) ->
                        MemorySegment.copy(stage, offset, everybodys[member], first, length));
        exchanges++;
        MemorySegment[] own = new MemorySegment[count];
        Arrays.setAll(own, fusedTensors::input);
        MemorySegment[][] tensors = new MemorySegment[count][local.size()];
        for (int i = 0; i < count; i++) {
            for (int member = 0; member < local.size(); member++) {
                tensors[i][member] =
                        resolve(member, read(everybodys[member], locationOffset(i)), own[i]);
            }
        }
        return new LocatedTensors(exchanges, own, tensors);
    }

    /// Where this rank's tensors lie; an empty one lies nowhere, and nobody will look for it.
    private MemorySegment locations(FusedTensors fusedTensors) {
        int count = fusedTensors.tensorCount();
        MemorySegment places = MemorySegment.ofArray(new long[count * LONGS_PER_LOCATION]);
        for (int i = 0; i < count; i++) {
            Location location = local.memory().locate(fusedTensors.input(i));
            if (location != null) {
                write(location, places, locationOffset(i));
            }
        }
        return places;
    }

    private MemorySegment resolve(int member, Location location, MemorySegment own) {
        if (location.byteSize() == 0) {
            return MemorySegment.NULL;
        }
        return member == local.index() ? own : local.memory().resolve(member, location);
    }

    /// Where the place of tensor `index` lies among those of a rank.
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

    /// What an exchange has brought, and what this rank brought to it.
    private static final class LocatedTensors {
        private final long exchange;
        private final MemorySegment[] own;
        private final MemorySegment[][] tensors;

        LocatedTensors(long exchange, MemorySegment[] own, MemorySegment[][] tensors) {
            this.exchange = exchange;
            this.own = own;
            this.tensors = tensors;
        }

        /// Whether the bundle's memory is still that of the exchange. Shared memory is not given
        /// back before the end, so that what lies at its address is the same as then.
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

package org.horovod4j.collectives;

import org.horovod4j.collectives.algorithm.StagedGather;
import org.horovod4j.spi.Bundle;
import org.horovod4j.transport.Neighbourhood;
import org.horovod4j.transport.SharedMemory.Place;
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
final class CommonMemory {
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED;

    /// Four numbers make a [Place].
    private static final int NUMBERS = 4;

    /// Posted instead of a block or an exchange: this rank has to copy, or it has no exchange to go
    /// by.
    private static final long NOWHERE = -1;

    private static final long UNKNOWN = 0;

    /// Below this many bytes per tensor it costs more to go from tensor to tensor than to copy
    /// them.
    private static final long WORTH_VISITING = 512;

    private final Neighbourhood near;
    private final StagedGather gather;
    private final Map<Bundle, Table> tables = new WeakHashMap<>();
    private long exchanges;

    CommonMemory(Neighbourhood near) {
        this.near = near;
        this.gather = new StagedGather(near);
    }

    /// Writes into the next notice whether, and where, the others can reach this rank's tensors.
    void post(Bundle bundle) {
        MemorySegment mine = near.region(near.index());
        long payload = near.nextPayload();
        boolean worthIt = bundle.byteSize() >= WORTH_VISITING * bundle.tensorCount();
        if (!worthIt || !bundle.isInPlace()) {
            mine.set(LONG, payload, NOWHERE);
        } else if (bundle.tensorCount() == 1) {
            Place place = near.memory().locate(bundle.input(0));
            if (place == null) {
                mine.set(LONG, payload, NOWHERE);
            } else {
                write(place, mine, payload);
            }
        } else {
            Table known = tables.get(bundle);
            if (known != null && known.isOf(bundle)) {
                mine.set(LONG, payload, known.exchange);
            } else {
                mine.set(LONG, payload, canBeReached(bundle) ? UNKNOWN : NOWHERE);
            }
        }
    }

    /// Everybody's tensors after the meeting, tensor by tensor and then by member, or null when one
    /// of them cannot be reached.
    MemorySegment @Nullable [][] find(Bundle bundle) {
        boolean remembered = true;
        long exchange = posted(near.index());
        for (int member = 0; member < near.size(); member++) {
            long posted = posted(member);
            if (posted == NOWHERE) {
                return null;
            }
            remembered &= posted == exchange;
        }
        if (bundle.tensorCount() == 1) {
            return new MemorySegment[][] {single(bundle)};
        }
        Table known = tables.get(bundle);
        if (known == null || !remembered || exchange == UNKNOWN) {
            known = exchange(bundle);
            tables.put(bundle, known);
        }
        return known.tensors;
    }

    /// Forgets all exchanges, on all ranks together: one that was under way has a number on some of
    /// them only.
    void reset() {
        tables.clear();
        exchanges = 0;
    }

    private boolean canBeReached(Bundle bundle) {
        for (int i = 0; i < bundle.tensorCount(); i++) {
            MemorySegment tensor = bundle.input(i);
            if (tensor.byteSize() > 0 && near.memory().locate(tensor) == null) {
                return false;
            }
        }
        return true;
    }

    private long posted(int member) {
        return near.region(member).get(LONG, near.payload());
    }

    private MemorySegment[] single(Bundle bundle) {
        MemorySegment[] tensor = new MemorySegment[near.size()];
        for (int member = 0; member < tensor.length; member++) {
            tensor[member] =
                    member == near.index()
                            ? bundle.input(0)
                            : near.memory().find(member, read(near.region(member), near.payload()));
        }
        return tensor;
    }

    private Table exchange(Bundle bundle) {
        int count = bundle.tensorCount();
        MemorySegment mine = places(bundle);
        MemorySegment[] everybodys = new MemorySegment[near.size()];
        Arrays.setAll(everybodys, _ -> MemorySegment.ofArray(new long[count * NUMBERS]));
        long[] sizes = new long[near.size()];
        Arrays.fill(sizes, at(count));
        gather.run(
                (first, length, stage, offset) ->
                        MemorySegment.copy(mine, first, stage, offset, length),
                sizes,
                (member, stage, offset, first, length) ->
                        MemorySegment.copy(stage, offset, everybodys[member], first, length));
        exchanges++;
        MemorySegment[] own = new MemorySegment[count];
        Arrays.setAll(own, bundle::input);
        MemorySegment[][] tensors = new MemorySegment[count][near.size()];
        for (int i = 0; i < count; i++) {
            for (int member = 0; member < near.size(); member++) {
                tensors[i][member] = find(member, read(everybodys[member], at(i)), own[i]);
            }
        }
        return new Table(exchanges, own, tensors);
    }

    /// Where this rank's tensors lie; an empty one lies nowhere, and nobody will look for it.
    private MemorySegment places(Bundle bundle) {
        int count = bundle.tensorCount();
        MemorySegment places = MemorySegment.ofArray(new long[count * NUMBERS]);
        for (int i = 0; i < count; i++) {
            Place place = near.memory().locate(bundle.input(i));
            if (place != null) {
                write(place, places, at(i));
            }
        }
        return places;
    }

    private MemorySegment find(int member, Place place, MemorySegment own) {
        if (place.byteSize() == 0) {
            return MemorySegment.NULL;
        }
        return member == near.index() ? own : near.memory().find(member, place);
    }

    /// Where the place of tensor `index` lies among those of a rank.
    private static long at(int index) {
        return (long) index * NUMBERS * Long.BYTES;
    }

    private static void write(Place place, MemorySegment memory, long offset) {
        memory.set(LONG, offset, place.block());
        memory.set(LONG, offset + 8, place.blockSize());
        memory.set(LONG, offset + 16, place.offset());
        memory.set(LONG, offset + 24, place.byteSize());
    }

    private static Place read(MemorySegment memory, long offset) {
        return new Place(
                memory.get(LONG, offset),
                memory.get(LONG, offset + 8),
                memory.get(LONG, offset + 16),
                memory.get(LONG, offset + 24));
    }

    /// What an exchange has brought, and what this rank brought to it.
    private static final class Table {
        private final long exchange;
        private final MemorySegment[] own;
        private final MemorySegment[][] tensors;

        Table(long exchange, MemorySegment[] own, MemorySegment[][] tensors) {
            this.exchange = exchange;
            this.own = own;
            this.tensors = tensors;
        }

        /// Whether the bundle's memory is still that of the exchange. Shared memory is not given
        /// back before the end, so that what lies at its address is the same as then.
        boolean isOf(Bundle bundle) {
            for (int i = 0; i < own.length; i++) {
                if (!own[i].equals(bundle.input(i))) {
                    return false;
                }
            }
            return true;
        }
    }
}

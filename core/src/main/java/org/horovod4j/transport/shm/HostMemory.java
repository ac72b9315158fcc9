package org.horovod4j.transport.shm;

import org.horovod4j.ConfigurationException;
import org.horovod4j.log.Log;
import org.horovod4j.spi.Member;
import org.horovod4j.transport.Region;
import org.horovod4j.transport.SharedMemory;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;

/// The memory that the processes of one host share.
///
/// A rank opens its own before it joins, so that its [Member] card can say where it is, and meets
/// the others' when it knows them.
public final class HostMemory implements SharedMemory {
    private static final Logger LOG = Log.of(HostMemory.class);

    private final Arena arena;
    private final Path folder;
    private final Descriptors descriptors;
    private final SharedFile own;

    /// What [#allocate] has made, by address.
    private final NavigableMap<Long, SharedFile> blocks = new ConcurrentSkipListMap<>();

    /// The addresses between which they lie: most tensors lie elsewhere, which is seen at a glance.
    private volatile long lowest = Long.MAX_VALUE;

    private volatile long highest = Long.MIN_VALUE;

    private final Map<Found, MemorySegment> found = new HashMap<>();
    private List<Member> members = List.of();
    private List<MemorySegment> regions = List.of();
    private int index;

    private HostMemory(Arena arena, Path folder, Descriptors descriptors, SharedFile own) {
        this.arena = arena;
        this.folder = folder;
        this.descriptors = descriptors;
        this.own = own;
    }

    /// Makes this rank's region in `folder`, or in the folder for temporary files when that cannot
    /// be used.
    public static HostMemory open(Path folder) {
        Path fallback = Path.of(System.getProperty("java.io.tmpdir"));
        try {
            return create(folder);
        } catch (IOException e) {
            LOG.log(
                    Level.WARNING,
                    "cannot share memory in {0} ({1}): using {2}, which may be slower",
                    folder,
                    e,
                    fallback);
        }
        try {
            return create(fallback);
        } catch (IOException e) {
            throw new ConfigurationException(
                    """
                    cannot share memory in %s or %s: %s
                    Free some room there, name a folder by HOROVOD_SHM_FOLDER, or set \
                    HOROVOD_TRANSPORT=tcp."""
                            .formatted(folder, fallback, e),
                    e);
        }
    }

    private static HostMemory create(Path folder) throws IOException {
        Arena arena = Arena.ofShared();
        try {
            Descriptors descriptors = Descriptors.ofThisProcess();
            SharedFile own = SharedFile.create(folder, Region.BYTES, arena, descriptors);
            return new HostMemory(arena, folder, descriptors, own);
        } catch (IOException e) {
            arena.close();
            throw e;
        }
    }

    /// Where the others find this rank's region: for its [Member] card.
    public String address() {
        return own.path().toString();
    }

    /// Maps the regions of `domain`, the members of this rank's domain, itself included.
    public void meet(List<Member> domain, int rank) {
        members = List.copyOf(domain);
        List<MemorySegment> mapped = new ArrayList<>();
        for (Member member : domain) {
            if (member.rank() == rank) {
                index = mapped.size();
                mapped.add(own.memory());
            } else {
                mapped.add(map(member, Path.of(member.memory()), Region.BYTES));
            }
        }
        regions = List.copyOf(mapped);
    }

    /// Removes the name of this rank's region, once all have met.
    public void unlink() {
        try {
            own.unlink();
        } catch (IOException e) {
            LOG.log(Level.WARNING, "cannot remove the name of shared memory " + own.path(), e);
        }
    }

    @Override
    public List<Integer> ranks() {
        return members.stream().map(Member::rank).toList();
    }

    @Override
    public int index() {
        return index;
    }

    @Override
    public MemorySegment region(int member) {
        return regions.get(member);
    }

    @Override
    public synchronized MemorySegment allocate(long byteSize) {
        try {
            // not in our arena: frameworks keep tensors there and may touch them after the last
            // collective,
            // where memory that is gone would end the process
            Arena kept = Arena.ofAuto();
            SharedFile file = SharedFile.create(folder, Math.max(byteSize, 1), kept, descriptors);
            long address = file.memory().address();
            blocks.put(address, file);
            lowest = Math.min(lowest, address);
            highest = Math.max(highest, address + file.memory().byteSize());
            return file.memory().asSlice(0, byteSize);
        } catch (IOException e) {
            throw new ConfigurationException(
                    """
                    cannot allocate %d bytes of shared memory in %s: %s
                    Free some room there, or name another folder by HOROVOD_SHM_FOLDER."""
                            .formatted(byteSize, folder, e),
                    e);
        }
    }

    @Override
    public @Nullable Place locate(MemorySegment segment) {
        long address = segment.address();
        if (!segment.isNative() || address < lowest || address >= highest) {
            return null;
        }
        Map.Entry<Long, SharedFile> below = blocks.floorEntry(address);
        if (below == null) {
            return null;
        }
        SharedFile block = below.getValue();
        long offset = address - below.getKey();
        long blockSize = block.memory().byteSize();
        return offset + segment.byteSize() <= blockSize
                ? new Place(block.number(), blockSize, offset, segment.byteSize())
                : null;
    }

    @Override
    public synchronized MemorySegment find(int member, Place place) {
        MemorySegment block =
                found.computeIfAbsent(new Found(member, place.block()), _ -> map(member, place));
        return block.asSlice(place.offset(), place.byteSize());
    }

    @Override
    public synchronized void close() {
        try {
            own.close();
            for (SharedFile block : blocks.values()) {
                block.close();
            }
        } catch (IOException e) {
            LOG.log(Level.WARNING, "cannot close shared memory", e);
        }
        arena.close();
    }

    private MemorySegment map(int member, Place place) {
        Member owner = members.get(member);
        Path path = SharedFile.sibling(Path.of(owner.memory()), place.block());
        return map(owner, path, place.blockSize());
    }

    private MemorySegment map(Member member, Path path, long byteSize) {
        try {
            return SharedFile.map(path, byteSize, arena);
        } catch (IOException e) {
            throw new ConfigurationException(
                    """
                    cannot map the memory of rank %d (%s): %s
                    Run both ranks as the same user and with the same view of /proc, or set \
                    HOROVOD_TRANSPORT=tcp."""
                            .formatted(member.rank(), path, e),
                    e);
        }
    }

    /// A block of a member that was mapped.
    private record Found(int member, long block) {}
}

package org.horovod4j.transport.shm;

import org.horovod4j.ConfigurationException;
import org.horovod4j.log.Log;
import org.horovod4j.spi.RankInfo;
import org.horovod4j.transport.RegionLayout;
import org.horovod4j.transport.SharedMemory;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;

/// The memory that the processes of one host share.
///
/// A rank creates its region before it joins, so that its [RankInfo] can say where the region is.
/// It maps the regions of the others after it has joined.
public final class MappedSharedMemory implements SharedMemory {
    private static final Logger LOG = Log.of(MappedSharedMemory.class);

    private static final Path TEMPORARY_FOLDER = Path.of(System.getProperty("java.io.tmpdir"));

    private final Arena arena;
    private final Path folder;
    private final FileDescriptors fileDescriptors;
    private final SharedFile ownRegion;

    /// Blocks from [#allocate], by address.
    private final NavigableMap<Long, SharedFile> blocks = new ConcurrentSkipListMap<>();

    /// The address range of all blocks. Most tensors lie outside, and [#locate] rejects them with
    /// two comparisons.
    private volatile long lowestAddress = Long.MAX_VALUE;

    private volatile long highestAddress = Long.MIN_VALUE;

    private final Map<BlockKey, MemorySegment> mappedBlocks = new HashMap<>();
    private List<RankInfo> members = List.of();
    private List<MemorySegment> regions = List.of();
    private int index;

    private MappedSharedMemory(
            Arena arena, Path folder, FileDescriptors fileDescriptors, SharedFile ownRegion) {
        this.arena = arena;
        this.folder = folder;
        this.fileDescriptors = fileDescriptors;
        this.ownRegion = ownRegion;
    }

    /// Creates this rank's region in `folder`, or in the folder for temporary files if `folder`
    /// cannot be used.
    public static MappedSharedMemory open(Path folder) {
        Path fallback = TEMPORARY_FOLDER;
        try {
            return create(folder);
        } catch (IOException e) {
            LOG.log(
                    Level.WARNING,
                    "Cannot create shared memory in {0} ({1}). Using {2} instead, which may be slower.",
                    folder,
                    e,
                    fallback);
        }
        try {
            return create(fallback);
        } catch (IOException e) {
            throw new ConfigurationException(
                    """
                    cannot create shared memory in %s or %s: %s
                    Free some space there, set HOROVOD_SHM_FOLDER to another folder, or set \
                    HOROVOD_TRANSPORT=tcp."""
                            .formatted(folder, fallback, e),
                    e);
        }
    }

    private static MappedSharedMemory create(Path folder) throws IOException {
        Arena arena = Arena.ofShared();
        try {
            FileDescriptors fileDescriptors = FileDescriptors.ofThisProcess();
            SharedFile own = SharedFile.create(folder, RegionLayout.BYTES, arena, fileDescriptors);
            return new MappedSharedMemory(arena, folder, fileDescriptors, own);
        } catch (IOException e) {
            arena.close();
            throw e;
        }
    }

    /// The path of this rank's region, for its [RankInfo].
    public String address() {
        return ownRegion.path().toString();
    }

    /// Maps the regions of all ranks in `domain`, this rank's memory domain.
    public void mapRegions(List<RankInfo> domain, int rank) {
        members = List.copyOf(domain);
        List<MemorySegment> mapped = new ArrayList<>();
        for (RankInfo rankInfo : domain) {
            if (rankInfo.rank() == rank) {
                index = mapped.size();
                mapped.add(ownRegion.memory());
            } else {
                mapped.add(map(rankInfo, Path.of(rankInfo.memory()), RegionLayout.BYTES));
            }
        }
        regions = List.copyOf(mapped);
    }

    /// Removes the file name of this rank's region. Called after all ranks have mapped it.
    public void unlink() {
        try {
            ownRegion.unlink();
        } catch (IOException e) {
            LOG.log(Level.WARNING, "Cannot delete the shared memory file " + ownRegion.path(), e);
        }
    }

    @Override
    public List<Integer> ranks() {
        return members.stream().map(RankInfo::rank).toList();
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
            // Not in our arena: frameworks keep tensors there and may access them after the last
            // collective. Access to unmapped memory would crash the process.
            Arena kept = Arena.ofAuto();
            SharedFile file =
                    SharedFile.create(folder, Math.max(byteSize, 1), kept, fileDescriptors);
            long address = file.memory().address();
            blocks.put(address, file);
            lowestAddress = Math.min(lowestAddress, address);
            highestAddress = Math.max(highestAddress, address + file.memory().byteSize());
            return file.memory().asSlice(0, byteSize);
        } catch (IOException e) {
            throw new ConfigurationException(
                    """
                    cannot allocate %d bytes of shared memory in %s: %s
                    Free some space there, or set HOROVOD_SHM_FOLDER to another folder."""
                            .formatted(byteSize, folder, e),
                    e);
        }
    }

    @Override
    public @Nullable Location locate(MemorySegment segment) {
        long address = segment.address();
        if (!segment.isNative() || address < lowestAddress || address >= highestAddress) {
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
                ? new Location(block.number(), blockSize, offset, segment.byteSize())
                : null;
    }

    @Override
    public synchronized MemorySegment resolve(int member, Location location) {
        MemorySegment block =
                mappedBlocks.computeIfAbsent(
                        new BlockKey(member, location.block()), _ -> map(member, location));
        return block.asSlice(location.offset(), location.byteSize());
    }

    @Override
    public synchronized void close() {
        if (!arena.scope().isAlive()) {
            return;
        }
        try {
            ownRegion.close();
            for (SharedFile block : blocks.values()) {
                block.close();
            }
        } catch (IOException e) {
            LOG.log(Level.WARNING, "Cannot close shared memory", e);
        }
        arena.close();
    }

    private MemorySegment map(int member, Location location) {
        RankInfo owner = members.get(member);
        Path path = SharedFile.sibling(Path.of(owner.memory()), location.block());
        return map(owner, path, location.blockSize());
    }

    private MemorySegment map(RankInfo rankInfo, Path path, long byteSize) {
        try {
            SharedFile.checkPeerPath(
                    path, rankInfo.pid(), sharedFolders(), Files.getOwner(ownRegion.path()));
            return SharedFile.map(path, byteSize, arena);
        } catch (IOException e) {
            throw new ConfigurationException(
                    """
                    cannot map the memory of rank %d (%s): %s
                    Run both ranks as the same user and with the same view of /proc, or set \
                    HOROVOD_TRANSPORT=tcp."""
                            .formatted(rankInfo.rank(), path, e),
                    e);
        }
    }

    /// Another rank may have used the fallback.
    private List<Path> sharedFolders() throws IOException {
        return List.of(folder.toRealPath(), TEMPORARY_FOLDER.toRealPath());
    }

    /// Identifies a mapped block of a member.
    private record BlockKey(int member, long block) {}
}

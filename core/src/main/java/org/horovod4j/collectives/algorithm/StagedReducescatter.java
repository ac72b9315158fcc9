package org.horovod4j.collectives.algorithm;

import org.horovod4j.spi.Activity;
import org.horovod4j.spi.ActivityRecorder;
import org.horovod4j.transport.IncomingMessage;
import org.horovod4j.transport.LocalGroup;
import org.horovod4j.transport.RegionLayout;
import org.horovod4j.transport.RegionLayout.Counter;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/// Reducescatter between hosts: through the stages within each host, and around a ring of hosts.
///
/// | rounds              | steps of a round | bytes sent by each host      |
/// |---------------------|------------------|------------------------------|
/// | all bytes / 512 KiB | `n - 1`          | `(n - 1) / n` of all tensors |
///
/// A round has a piece of the section of each host ([ScatterSections]). Owners reduce a part of
/// each piece over the stages of their host, and then around the ring. A piece ends at its own host,
/// so it is sent `n - 1` times, and results are not sent. The order in which hosts are added depends
/// only on the host that receives. The table is for hosts with equally many ranks.
public final class StagedReducescatter {
    /// The size of the largest element type.
    private static final long ELEMENT_BYTES = 8;

    private final LocalGroup local;
    private final ActivityRecorder activityRecorder;
    private final StagedPipeline pipeline;
    private final MemorySegment[] sources;
    private final long[] offsets;

    public StagedReducescatter(LocalGroup local, ActivityRecorder activityRecorder) {
        this.local = local;
        this.activityRecorder = activityRecorder;
        this.pipeline = new StagedPipeline(local);
        this.sources = new MemorySegment[local.size()];
        this.offsets = new long[local.size()];
        for (int member = 0; member < local.size(); member++) {
            sources[member] = local.region(member);
        }
    }

    /// Reduces all sections, and copies this rank's elements to its outputs.
    ///
    /// @param owners the number of owners; the first members of each host are owners
    /// @param hosts the ranks with this rank's index on all hosts; used if it is an owner
    /// @param host the index of this host
    public void run(
            ScaledReduction reduction,
            int owners,
            LinkGroup hosts,
            int host,
            ScatterSections sections) {
        long pieceBytes =
                RegionLayout.STAGE_BYTES / (sections.count() * ELEMENT_BYTES) * ELEMENT_BYTES;
        long pieceElements = pieceBytes / reduction.byteSize();
        pipeline.run(
                (sections.maxElementCount() + pieceElements - 1) / pieceElements,
                new ScatterPhases(reduction, owners, hosts, host, sections, pieceElements));
    }

    private final class ScatterPhases implements StagedPipeline.Phases {
        private final ScaledReduction reduction;
        private final int owners;
        private final LinkGroup hosts;
        private final int host;
        private final ScatterSections sections;
        private final long pieceElements;

        /// How many messages were started until the end of each of the last two rounds.
        private final long[] started = new long[2];

        ScatterPhases(
                ScaledReduction reduction,
                int owners,
                LinkGroup hosts,
                int host,
                ScatterSections sections,
                long pieceElements) {
            this.reduction = reduction;
            this.owners = owners;
            this.hosts = hosts;
            this.host = host;
            this.sections = sections;
            this.pieceElements = pieceElements;
        }

        @Override
        public void pack(long round, long stage) {
            MemorySegment mine = local.region(local.index());
            long since = activityRecorder.begin();
            for (int section = 0; section < sections.count(); section++) {
                long offset = offset(stage, section);
                long elements = elements(round, section);
                sections.pack(section, round * pieceElements, elements, mine, offset);
                reduction.prescale(mine, offset, elements);
            }
            activityRecorder.end(Activity.MEMCPY_IN_FUSION_BUFFER, since);
        }

        @Override
        public void reduce(long round, long stage, long packed) {
            if (local.index() >= owners) {
                return;
            }
            long since = activityRecorder.begin();
            local.awaitAll(Counter.PACKED, packed);
            since = activityRecorder.end(Activity.WAIT_FOR_DATA, since);
            if (local.size() > 1) {
                for (int section = 0; section < sections.count(); section++) {
                    Operands part = part(round, stage, section, local.index());
                    Arrays.fill(offsets, part.offset());
                    reduction.reduce(part.memory(), part.offset(), sources, offsets, part.count());
                }
            }
            since = activityRecorder.end(Activity.SHM_ALLREDUCE, since);
            startRing(round, stage);
            started[(int) (round % 2)] = hosts.pointToPoint().started();
            activityRecorder.end(Activity.TCP_ALLREDUCE, since);
        }

        /// In each step sends the part of one section to the next host, as it arrives in the step
        /// before, and adds that of another section. In the last step this host receives its own
        /// section.
        private void startRing(long round, long stage) {
            int count = sections.count();
            int next = (host + 1) % count;
            int previous = Math.floorMod(host - 1, count);
            hosts.open(next, previous);
            IncomingMessage received = null;
            for (int step = 0; step < count - 1; step++) {
                int section = Math.floorMod(host - step - 1, count);
                Operands out = part(round, stage, section, local.index());
                hosts.startForward(next, out.memory(), out.offset(), out.byteSize(), received);
                Operands in = part(round, stage, Math.floorMod(section - 1, count), local.index());
                received =
                        hosts.startReceive(
                                previous, in.combining(0, in.count(), true, step == count - 2));
            }
        }

        @Override
        public boolean sendsMessages() {
            return true;
        }

        @Override
        public void finishReduce(long round) {
            if (local.index() < owners) {
                long since = activityRecorder.begin();
                hosts.pointToPoint().await(started[(int) (round % 2)]);
                activityRecorder.end(Activity.TCP_ALLREDUCE, since);
            }
        }

        @Override
        public void unpack(long round, long stage, long reduced) {
            long first = round * pieceElements;
            for (int step = 0; step < owners; step++) {
                int owner = local.memberAt(step, owners);
                long since = activityRecorder.begin();
                local.await(owner, Counter.REDUCED, reduced);
                since = activityRecorder.end(Activity.WAIT_FOR_DATA, since);
                Operands part = part(round, stage, host, owner);
                long start = Partition.start(elements(round, host), owner, owners);
                sections.unpack(host, part.memory(), part.offset(), first + start, part.count());
                activityRecorder.end(Activity.MEMCPY_OUT_FUSION_BUFFER, since);
            }
        }

        /// The part of a section's piece that an owner reduces.
        private Operands part(long round, long stage, int section, int owner) {
            long elements = elements(round, section);
            long start = Partition.start(elements, owner, owners);
            long end = Partition.start(elements, owner + 1, owners);
            return reduction.operands(
                    local.region(owner),
                    offset(stage, section) + start * reduction.byteSize(),
                    end - start);
        }

        private long offset(long stage, int section) {
            return stage + section * pieceElements * reduction.byteSize();
        }

        private long elements(long round, int section) {
            long left = sections.elementCount(section) - round * pieceElements;
            return Math.clamp(left, 0, pieceElements);
        }
    }
}

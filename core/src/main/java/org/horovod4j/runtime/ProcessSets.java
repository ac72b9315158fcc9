package org.horovod4j.runtime;

import org.horovod4j.Communicator;
import org.horovod4j.HorovodException;
import org.horovod4j.MismatchException;
import org.horovod4j.ProcessSet;
import org.horovod4j.ShutDownException;
import org.horovod4j.option.FrameworkSettings;
import org.horovod4j.runtime.stall.RankReport;
import org.horovod4j.spi.RankInfo;
import org.horovod4j.transport.SharedMemory;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;

/// The process sets of a rank. All ranks of the job add and remove them together, members or not.
final class ProcessSets {
    private final RankContext context;
    private final RuntimeFactory runtimeFactory;
    private final CommunicatorFactory communicatorFactory;

    private final ProcessSetAgreement agreement;
    private final TreeMap<Integer, RegisteredProcessSet> sets = new TreeMap<>();
    private int channels;

    /// Makes the communicator of a process set.
    interface CommunicatorFactory {
        Communicator communicator(RankSet set, ProcessSetRuntime runtime, ProcessSet processSet);
    }

    /// Starts the runtime of a process set that this rank is in.
    interface RuntimeFactory {
        /// Starts it.
        ///
        /// @param channel a number that no other process set has had
        /// @param members of the set, by rank in the set
        /// @param memory shared with ranks of the set
        ProcessSetRuntime start(
                RankSet set, int channel, List<RankInfo> members, SharedMemory memory);
    }

    ProcessSets(
            RankContext context,
            RuntimeFactory runtimeFactory,
            CommunicatorFactory communicatorFactory) {
        this.context = context;
        this.runtimeFactory = runtimeFactory;
        this.communicatorFactory = communicatorFactory;
        this.agreement = new ProcessSetAgreement(context.control());
    }

    /// Starts the set of all ranks, whose memory is shared already.
    ProcessSet world(SharedMemory memory) {
        List<Integer> all = IntStream.range(0, context.members().size()).boxed().toList();
        RankSet set = new RankSet(0, all, context.rank());
        RegisteredProcessSet world = new RegisteredProcessSet(set);
        world.run(runtimeFactory.start(set, channels++, context.members(), memory));
        sets.put(0, world);
        return world;
    }

    synchronized List<ProcessSet> all() {
        return List.copyOf(sets.values());
    }

    /// The runtimes of the sets that this rank is in.
    synchronized List<ProcessSetRuntime> runtimes() {
        List<ProcessSetRuntime> running = new ArrayList<>();
        for (RegisteredProcessSet set : sets.values()) {
            ProcessSetRuntime runtime = set.runtime;
            if (runtime != null) {
                running.add(runtime);
            }
        }
        return running;
    }

    /// What this rank does in each set.
    RankReport report() {
        return new RankReport(
                System.nanoTime(),
                runtimes().stream().map(ProcessSetRuntime::report).toList(),
                agreement.report());
    }

    /// Adds process sets, the same on every rank.
    ///
    /// @param wanted the ranks of each
    /// @throws MismatchException on every rank, when the ranks request different sets
    /// @throws IllegalArgumentException on every rank, when a set is not possible
    List<ProcessSet> add(List<List<Integer>> wanted) {
        return agreement.change(
                () -> "adding process sets " + wanted.stream().map(this::inOrder).toList(),
                () -> {
                    SortedMap<Integer, List<Integer>> numbered = new TreeMap<>();
                    for (List<Integer> ranks : wanted) {
                        List<Integer> sorted = unique(sorted(ranks), numbered.values());
                        numbered.put(freeId(numbered.keySet()), sorted);
                    }
                    return addAll(numbered);
                });
    }

    /// Adds the process sets of an earlier generation again, with the numbers they had.
    ///
    /// @param former the ranks of each, by number: the same on every rank
    /// @throws MismatchException on every rank, when it is not
    /// @throws IllegalArgumentException on every rank, when a set was never possible
    void addAgain(SortedMap<Integer, List<Integer>> former) {
        List<ProcessSet> _ =
                agreement.change(
                        () -> "adding process sets " + numbered(former),
                        () -> {
                            SortedMap<Integer, List<Integer>> sorted = new TreeMap<>();
                            former.forEach((id, ranks) -> sorted.put(id, sorted(ranks)));
                            return addAll(sorted);
                        });
    }

    private List<String> numbered(SortedMap<Integer, List<Integer>> former) {
        return former.entrySet().stream()
                .map(set -> "%d of ranks %s".formatted(set.getKey(), inOrder(set.getValue())))
                .toList();
    }

    /// A set as the ranks compare it. They may name its members in different orders. Of a set that
    /// names too many ranks, and so is not possible, only as many are sent as prove that.
    private List<Integer> inOrder(List<Integer> ranks) {
        return ranks.stream().sorted().limit(context.members().size() + 1L).toList();
    }

    /// The ranks of each set by number, without the set of all ranks.
    synchronized SortedMap<Integer, List<Integer>> ranksById() {
        SortedMap<Integer, List<Integer>> table = new TreeMap<>();
        sets.tailMap(1).forEach((id, set) -> table.put(id, set.ranks()));
        return table;
    }

    /// Removes a process set. Its operations in flight fail.
    ///
    /// @return false, on every rank, for the set of all ranks and for one that was removed before
    /// @throws MismatchException on every rank, when the ranks pass different sets
    boolean remove(ProcessSet set) {
        return agreement.change(() -> removal(set), () -> end(set));
    }

    /// A number may be used again, so ranks may have different sets with one number.
    private synchronized String removal(ProcessSet set) {
        boolean present = set.id() == 0 || sets.get(set.id()) == set;
        return "removing process set %d%s"
                .formatted(set.id(), present ? "" : ", which was removed before");
    }

    /// Ends a set on all ranks.
    ///
    /// @return whether it was registered
    private boolean end(ProcessSet set) {
        RegisteredProcessSet removed = unregister(set);
        if (removed == null) {
            return false;
        }
        ProcessSetRuntime runtime = removed.stop(new ShutDownException(set + " was removed"));
        try {
            // No rank may free memory that another rank still reads.
            agreement.awaitAll("removed");
        } finally {
            if (runtime != null) {
                runtime.close();
            }
        }
        return true;
    }

    /// @throws HorovodException after [#stop]: [#close] might miss the set
    private synchronized void register(RegisteredProcessSet set) {
        agreement.checkNotStopped();
        sets.put(set.id(), set);
    }

    /// @return null for the set of all ranks and for one that is not registered
    /// @throws HorovodException after [#stop]: then [#close] frees the set
    private synchronized @Nullable RegisteredProcessSet unregister(ProcessSet set) {
        agreement.checkNotStopped();
        if (set.id() == 0 || sets.get(set.id()) != set) {
            return null;
        }
        return sets.remove(set.id());
    }

    /// Waits for operations that were launched on a device.
    void drain() {
        runtimes().forEach(ProcessSetRuntime::drain);
    }

    /// Fails all operations, now and later.
    void stop(HorovodException reason) {
        agreement.stop(reason); // first: a set that is not registered yet is then rejected
        runtimes().forEach(runtime -> runtime.stop(reason));
    }

    void close() {
        runtimes().forEach(ProcessSetRuntime::close);
    }

    private List<Integer> sorted(List<Integer> ranks) {
        List<Integer> sorted = List.copyOf(new TreeSet<>(ranks));
        int size = context.members().size();
        if (sorted.isEmpty()) {
            throw new IllegalArgumentException("a process set has at least one rank");
        }
        if (sorted.size() < ranks.size()) {
            throw new IllegalArgumentException(
                    "process set %s names a rank twice".formatted(ranks));
        }
        if (sorted.getFirst() < 0 || sorted.getLast() >= size) {
            throw new IllegalArgumentException(
                    "process set %s: ranks go from 0 to %d".formatted(ranks, size - 1));
        }
        return sorted;
    }

    /// Not checked for sets of an earlier generation: if that had more ranks, a set of some of them
    /// may be the set of all ranks now.
    private List<Integer> unique(List<Integer> sorted, Collection<List<Integer>> others) {
        boolean known = all().stream().anyMatch(set -> set.ranks().equals(sorted));
        if (known || others.contains(sorted)) {
            throw new IllegalArgumentException(
                    "there is a process set of ranks %s already".formatted(sorted));
        }
        return sorted;
    }

    /// Adds all of these sets or none. A failure reaches all ranks, so they take back the same sets.
    private List<ProcessSet> addAll(SortedMap<Integer, List<Integer>> ranksById) {
        List<ProcessSet> added = new ArrayList<>();
        try {
            ranksById.forEach((id, ranks) -> added.add(addOne(id, ranks)));
            return added;
        } catch (RuntimeException | Error e) {
            added.forEach(set -> takeBack(set, e));
            throw e;
        }
    }

    private void takeBack(ProcessSet set, Throwable failure) {
        try {
            boolean _ = end(set);
        } catch (RuntimeException | Error e) { // such as the loss that is the failure
            failure.addSuppressed(e);
        }
    }

    /// Adds a set in steps that all ranks take together, members or not. A step that fails on one
    /// rank fails on all of them: no rank then has the set, and none waits for it.
    private ProcessSet addOne(int id, List<Integer> ranks) {
        RankSet set = new RankSet(id, ranks, context.rank());
        int channel = channels++;
        RegisteredProcessSet added = new RegisteredProcessSet(set);
        if (set.isIncluded()) {
            start(added, channel);
        } else {
            agreement.step(set, "memory of channel " + channel, () -> "");
            agreement.step(set, "memory mapped of channel " + channel, () -> "");
        }
        try {
            register(added);
        } catch (HorovodException e) { // this rank leaves
            ProcessSetRuntime runtime = added.stop(e);
            if (runtime != null) {
                runtime.close();
            }
            throw e;
        }
        return added;
    }

    private void start(RegisteredProcessSet added, int channel) {
        RankSet set = added.set;
        AtomicReference<SharedMemoryFactory.@Nullable Region> opened = new AtomicReference<>();
        try {
            List<String> addresses =
                    agreement.step(
                            set,
                            "memory of channel " + channel,
                            () -> {
                                SharedMemoryFactory.Region region =
                                        context.sharedMemoryFactory().open(channel);
                                opened.set(region);
                                return region.address();
                            });
            SharedMemoryFactory.Region region = Objects.requireNonNull(opened.get());
            List<RankInfo> members = members(set.ranks(), addresses);
            AtomicReference<@Nullable SharedMemory> mapped = new AtomicReference<>();
            agreement.step(
                    set,
                    "memory mapped of channel " + channel,
                    () -> {
                        mapped.set(region.map(members, set.rank()));
                        return "";
                    });
            region.unlink();
            SharedMemory memory = Objects.requireNonNull(mapped.get());
            added.run(connect(set, channel, members, memory));
        } catch (RuntimeException | Error e) {
            SharedMemoryFactory.Region region = opened.get();
            if (region != null) {
                region.close();
            }
            throw e;
        }
    }

    /// Connects to the other members. A member that cannot do so ends its part in the job: the
    /// others wait for its data, and only a lost rank ends such a wait.
    private ProcessSetRuntime connect(
            RankSet set, int channel, List<RankInfo> members, SharedMemory memory) {
        try {
            return runtimeFactory.start(set, channel, members, memory);
        } catch (RuntimeException | Error e) {
            // A copy: all waits that a shutdown ends get the same exception.
            throw context.failureHandler().explain(e, set.ranks()).atCaller();
        }
    }

    /// The lowest number that is neither in use nor in `taken`.
    private synchronized int freeId(Set<Integer> taken) {
        int id = 1;
        while (sets.containsKey(id) || taken.contains(id)) {
            id++;
        }
        return id;
    }

    private List<RankInfo> members(List<Integer> ranks, List<String> addresses) {
        List<RankInfo> members = new ArrayList<>();
        for (int rank : ranks) {
            RankInfo rankInfo = context.members().get(rank);
            members.add(
                    new RankInfo(
                            members.size(),
                            rankInfo.host(),
                            rankInfo.machine(),
                            rankInfo.domain(),
                            rankInfo.pid(),
                            rankInfo.jvm(),
                            addresses.get(rank),
                            rankInfo.addresses()));
        }
        return members;
    }

    /// The object that the program has of a set.
    private final class RegisteredProcessSet implements ProcessSet, FrameworkSettings.Source {
        private final RankSet set;
        private volatile @Nullable ProcessSetRuntime runtime;
        private volatile @Nullable Communicator communicator;

        RegisteredProcessSet(RankSet set) {
            this.set = set;
        }

        void run(ProcessSetRuntime started) {
            runtime = started;
            communicator = communicatorFactory.communicator(set, started, this);
        }

        /// Fails its operations, now and later.
        ///
        /// @return what the caller has to close; null if this rank is not in the set
        @Nullable ProcessSetRuntime stop(HorovodException reason) {
            ProcessSetRuntime running = runtime;
            runtime = null;
            if (running != null) {
                running.drain();
                running.stop(reason);
                context.state().unregister(set.id(), running.state());
            }
            return running;
        }

        @Override
        public FrameworkSettings frameworkSettings() {
            return context.settings().framework();
        }

        @Override
        public int id() {
            return set.id();
        }

        @Override
        public List<Integer> ranks() {
            return set.ranks();
        }

        @Override
        public int size() {
            return set.size();
        }

        @Override
        public boolean isIncluded() {
            return set.isIncluded();
        }

        @Override
        public int rank() {
            if (!set.isIncluded()) {
                throw notIncluded();
            }
            return set.rank();
        }

        @Override
        public Communicator communicator() {
            if (!set.isIncluded()) {
                throw notIncluded();
            }
            ProcessSetRuntime running = runtime;
            if (running == null) {
                throw new IllegalStateException(this + " was removed");
            }
            return view(running);
        }

        /// The one view that all callers share, until one of them closes it.
        private synchronized Communicator view(ProcessSetRuntime running) {
            Communicator view = Objects.requireNonNull(communicator);
            if (view.isOpen() || set.id() == 0) {
                return view;
            }
            Communicator next = communicatorFactory.communicator(set, running, this);
            communicator = next;
            return next;
        }

        private IllegalStateException notIncluded() {
            return new IllegalStateException(
                    "rank %d is not in %s: ask isIncluded() first".formatted(context.rank(), this));
        }

        @Override
        public String toString() {
            return "process set %d of ranks %s".formatted(set.id(), set.ranks());
        }
    }
}

package org.horovod4j.rendezvous;

import org.horovod4j.ShutDownException;
import org.horovod4j.spi.ControlPlane;
import org.horovod4j.spi.RankDeparture;
import org.horovod4j.spi.RankInfo;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/// The rendezvous of ranks that are threads of one JVM, or of a single rank.
public final class LocalRendezvous {
    private final int size;
    private final AllgatherRound<RankInfo> members;
    private final Map<String, AllgatherRound<byte[]>> allgathers = new HashMap<>();
    private final SortedMap<Integer, ControlPlane.Listener> listeners = new TreeMap<>();
    private @Nullable RankDeparture rankDeparture;

    public LocalRendezvous(int size) {
        this.size = size;
        this.members = new AllgatherRound<>(size);
    }

    /// The rendezvous as `rank` sees it.
    public ControlPlane controlPlane(int rank) {
        return new LocalControlPlane(rank);
    }

    /// Adds a contribution. The last contribution removes the topic, which may then be used again.
    private synchronized AllgatherRound<byte[]> contribute(
            String topic, int rank, byte[] contribution) {
        AllgatherRound<byte[]> allgatherRound =
                allgathers.computeIfAbsent(topic, _ -> new AllgatherRound<>(size));
        allgatherRound.contribute(rank, contribution);
        if (allgatherRound.isComplete()) {
            allgathers.remove(topic);
        }
        return allgatherRound;
    }

    /// Removes an allgather that one rank gave up, which therefore cannot complete.
    private synchronized void discard(String topic, AllgatherRound<byte[]> allgatherRound) {
        allgathers.remove(topic, allgatherRound);
    }

    private synchronized void announce(RankDeparture departure) {
        RankDeparture known = rankDeparture;
        listeners.remove(departure.rank());
        if (known == null || known.orderly()) {
            rankDeparture = known == null || !departure.orderly() ? departure : known;
            listeners.values().forEach(listener -> listener.rankDeparted(departure));
        }
    }

    private synchronized void register(int rank, ControlPlane.Listener listener) {
        listeners.put(rank, listener);
        if (rankDeparture != null) {
            listener.rankDeparted(rankDeparture);
        }
    }

    private synchronized Map<Integer, ControlPlane.Listener> activeListeners() {
        return Map.copyOf(listeners);
    }

    private synchronized @Nullable RankDeparture departure() {
        return rankDeparture;
    }

    /// One contribution from each rank.
    private static final class AllgatherRound<T> {
        private static final long CHECK_MILLIS = 20;

        private final SortedMap<Integer, T> contributions = new TreeMap<>();
        private final CountDownLatch missing;

        AllgatherRound(int size) {
            this.missing = new CountDownLatch(size);
        }

        synchronized void contribute(int rank, T contribution) {
            if (contributions.put(rank, contribution) != null) {
                throw new IllegalStateException(
                        "rank " + rank + " has contributed to this allgather already");
            }
            missing.countDown();
        }

        boolean isComplete() {
            return missing.getCount() == 0;
        }

        /// Waits a short time.
        ///
        /// @return whether an interrupt ended the wait; it does not end the allgather, because the
        ///     other ranks would still wait
        boolean awaitOnce() {
            try {
                boolean _ = missing.await(CHECK_MILLIS, TimeUnit.MILLISECONDS);
                return false;
            } catch (InterruptedException _) {
                return true;
            }
        }

        synchronized List<T> contributions() {
            return List.copyOf(contributions.values());
        }
    }

    private final class LocalControlPlane implements ControlPlane {
        private final int rank;
        private String host = "localhost";
        private volatile boolean stopped;

        LocalControlPlane(int rank) {
            this.rank = rank;
        }

        @Override
        public List<RankInfo> join(RankInfo self, Listener listener) {
            host = self.host();
            register(rank, listener);
            members.contribute(rank, self);
            await(members, "joining");
            return members.contributions();
        }

        @Override
        public List<byte[]> allgather(String topic, byte[] mine) {
            AllgatherRound<byte[]> allgatherRound = contribute(topic, rank, mine.clone());
            try {
                await(allgatherRound, "allgather of '" + topic + "'");
                return allgatherRound.contributions();
            } finally {
                discard(topic, allgatherRound);
            }
        }

        @Override
        public List<byte @Nullable []> survey() {
            Map<Integer, Listener> present = activeListeners();
            List<byte @Nullable []> answers = new ArrayList<>();
            for (int each = 0; each < size; each++) {
                Listener listener = present.get(each);
                answers.add(listener == null ? null : StateDescription.of(listener));
            }
            return Collections.unmodifiableList(answers);
        }

        @Override
        public void leave(Map<Integer, Long> completed, boolean orderly, String reason) {
            announce(new RankDeparture(rank, host, reason, orderly, completed));
        }

        @Override
        public void stop() {
            stopped = true;
        }

        @Override
        public void close() {}

        private void await(AllgatherRound<?> allgatherRound, String what) {
            boolean interrupted = false;
            try {
                while (!allgatherRound.isComplete()) {
                    RankDeparture departed = departure();
                    // A rank that has got the result may leave. Then this rank gets it too.
                    if (departed != null && !allgatherRound.isComplete()) {
                        throw PeerLoss.toException(what, new RendezvousMessage.Lost(departed, -1));
                    }
                    if (stopped) {
                        throw new ShutDownException(what + ": rank " + rank + " leaves the job");
                    }
                    interrupted |= allgatherRound.awaitOnce();
                }
            } finally {
                if (interrupted) {
                    Thread.currentThread().interrupt();
                }
            }
        }
    }
}

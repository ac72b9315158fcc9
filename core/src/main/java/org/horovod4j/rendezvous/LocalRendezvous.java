package org.horovod4j.rendezvous;

import org.horovod4j.ShutDownException;
import org.horovod4j.spi.ControlPlane;
import org.horovod4j.spi.Loss;
import org.horovod4j.spi.Member;
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

/// The meeting place of ranks that are threads of one JVM, or of a rank that is alone.
public final class LocalRendezvous {
    private final int size;
    private final Round<Member> members;
    private final Map<String, Round<byte[]>> gathers = new HashMap<>();
    private final SortedMap<Integer, ControlPlane.Listener> listeners = new TreeMap<>();
    private @Nullable Loss loss;

    public LocalRendezvous(int size) {
        this.size = size;
        this.members = new Round<>(size);
    }

    /// The meeting place as `rank` sees it.
    public ControlPlane controlPlane(int rank) {
        return new Seat(rank);
    }

    /// Adds a share, and forgets the topic with the last one: it may be used again.
    private synchronized Round<byte[]> give(String topic, int rank, byte[] share) {
        Round<byte[]> round = gathers.computeIfAbsent(topic, _ -> new Round<>(size));
        round.give(rank, share);
        if (round.isComplete()) {
            gathers.remove(topic);
        }
        return round;
    }

    /// Forgets a round that somebody gave up, and that therefore nobody can complete.
    private synchronized void abandon(String topic, Round<byte[]> round) {
        gathers.remove(topic, round);
    }

    private synchronized void announce(Loss news) {
        Loss known = loss;
        listeners.remove(news.rank());
        if (known == null || known.orderly()) {
            loss = known == null || !news.orderly() ? news : known;
            listeners.values().forEach(listener -> listener.lost(news));
        }
    }

    private synchronized void attend(int rank, ControlPlane.Listener listener) {
        listeners.put(rank, listener);
        if (loss != null) {
            listener.lost(loss);
        }
    }

    private synchronized Map<Integer, ControlPlane.Listener> present() {
        return Map.copyOf(listeners);
    }

    private synchronized void checkNobodyLost(String what) {
        if (loss != null) {
            throw Obituary.of(what, new Message.Lost(loss, -1));
        }
    }

    /// One share from each rank, complete when all have come.
    private static final class Round<T> {
        private final SortedMap<Integer, T> shares = new TreeMap<>();
        private final CountDownLatch missing;

        Round(int size) {
            this.missing = new CountDownLatch(size);
        }

        synchronized void give(int rank, T share) {
            if (shares.put(rank, share) != null) {
                throw new IllegalStateException("rank " + rank + " has given its share already");
            }
            missing.countDown();
        }

        boolean isComplete() {
            return missing.getCount() == 0;
        }

        synchronized List<T> shares() {
            return List.copyOf(shares.values());
        }
    }

    private final class Seat implements ControlPlane {
        private static final long CHECK_MILLIS = 20;

        private final int rank;
        private String host = "localhost";
        private volatile boolean stopped;

        Seat(int rank) {
            this.rank = rank;
        }

        @Override
        public List<Member> join(Member self, Listener listener) {
            host = self.host();
            attend(rank, listener);
            members.give(rank, self);
            await(members, "joining");
            return members.shares();
        }

        @Override
        public List<byte[]> gather(String topic, byte[] mine) {
            Round<byte[]> round = give(topic, rank, mine.clone());
            try {
                await(round, "gather of '" + topic + "'");
                return round.shares();
            } finally {
                abandon(topic, round);
            }
        }

        @Override
        public List<byte @Nullable []> survey() {
            Map<Integer, Listener> present = present();
            List<byte @Nullable []> answers = new ArrayList<>();
            for (int each = 0; each < size; each++) {
                Listener listener = present.get(each);
                answers.add(listener == null ? null : Description.by(listener));
            }
            return Collections.unmodifiableList(answers);
        }

        @Override
        public void leave(Map<Integer, Long> completed, boolean orderly, String reason) {
            announce(new Loss(rank, host, reason, orderly, completed));
        }

        @Override
        public void stop() {
            stopped = true;
        }

        @Override
        public void close() {}

        private void await(Round<?> round, String what) {
            try {
                while (!round.missing.await(CHECK_MILLIS, TimeUnit.MILLISECONDS)) {
                    checkNobodyLost(what);
                    if (stopped) {
                        throw new ShutDownException(what + ": rank " + rank + " leaves the job");
                    }
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException(what + " was interrupted", e);
            }
        }
    }
}

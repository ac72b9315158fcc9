package org.horovod4j.rendezvous;

import org.horovod4j.PeerLostException;
import org.horovod4j.ShutDownException;
import org.horovod4j.spi.ControlPlane;
import org.horovod4j.spi.Loss;
import org.horovod4j.spi.Member;
import org.jspecify.annotations.Nullable;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/// The meeting place of ranks that are threads of one JVM, or of a rank that is alone.
public final class LocalRendezvous {
    private final int size;
    private final Map<String, Round<byte[]>> gathers = new HashMap<>();
    private final Round<Member> members;
    private final List<ControlPlane.@Nullable Listener> listeners;
    private @Nullable Loss loss;
    private long waitingOperation;
    private long waitingStamp;

    public LocalRendezvous(int size) {
        this.size = size;
        this.members = new Round<>(new Member[size]);
        this.listeners = Arrays.asList(new ControlPlane.Listener[size]);
    }

    /// The meeting place as `rank` sees it.
    public ControlPlane controlPlane(int rank) {
        return new Seat(rank);
    }

    private synchronized Round<byte[]> gather(String topic) {
        return gathers.computeIfAbsent(topic, _ -> new Round<>(new byte[size][]));
    }

    private synchronized void announce(Loss news) {
        Loss known = loss;
        if (known == null || (known.orderly() && !news.orderly())) {
            loss = news;
            for (ControlPlane.Listener listener : listeners) {
                if (listener != null) {
                    listener.lost(news);
                }
            }
        }
    }

    private synchronized void attend(int rank, ControlPlane.Listener listener) {
        listeners.set(rank, listener);
        if (loss != null) {
            listener.lost(loss);
        }
    }

    private synchronized void alarm(long operation) {
        for (ControlPlane.Listener listener : listeners) {
            if (listener != null) {
                listener.disputed(operation);
            }
        }
    }

    private synchronized void waiting(long operation, long stamp) {
        if (operation > waitingOperation) {
            waitingOperation = operation;
            waitingStamp = stamp;
        } else if (operation == waitingOperation && stamp != waitingStamp) {
            alarm(operation);
        }
    }

    private synchronized void checkNobodyLost(String what) {
        Loss known = loss;
        if (known != null) {
            throw new PeerLostException(
                    known.rank(),
                    known.host(),
                    "%s: rank %d is gone: %s".formatted(what, known.rank(), known.reason()),
                    null);
        }
    }

    /// One share from each rank, complete when all have come.
    private static final class Round<T> {
        private final T[] shares;
        private final CountDownLatch missing;

        Round(T[] shares) {
            this.shares = shares;
            this.missing = new CountDownLatch(shares.length);
        }

        void give(int rank, T share) {
            shares[rank] = share;
            missing.countDown();
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
            return List.of(members.shares);
        }

        @Override
        public List<byte[]> gather(String topic, byte[] mine) {
            Round<byte[]> round = LocalRendezvous.this.gather(topic);
            round.give(rank, mine.clone());
            await(round, "gather of '" + topic + "'");
            return List.of(round.shares);
        }

        @Override
        public void alarm(long operation) {
            LocalRendezvous.this.alarm(operation);
        }

        @Override
        public void waiting(long operation, long stamp) {
            LocalRendezvous.this.waiting(operation, stamp);
        }

        @Override
        public void leave(long completedOperations, boolean orderly, String reason) {
            announce(new Loss(rank, host, reason, orderly, completedOperations));
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

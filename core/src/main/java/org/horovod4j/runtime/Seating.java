package org.horovod4j.runtime;

import org.horovod4j.Membership;
import org.horovod4j.elastic.desk.Place;
import org.horovod4j.elastic.desk.WorkerLine;
import org.horovod4j.option.ElasticWorker;
import org.horovod4j.option.Position;
import org.horovod4j.option.Rendezvous;
import org.horovod4j.option.WorkerSettings;
import org.horovod4j.trust.Protection;
import org.horovod4j.trust.Secret;
import org.jspecify.annotations.Nullable;

import java.net.InetSocketAddress;
import java.util.List;

/// How a process comes to its rank in each generation.
sealed interface Seating extends AutoCloseable {
    /// A rank, and what belongs to it.
    ///
    /// @param settings of the process, at this rank
    record Seat(WorkerSettings settings, Membership membership) {}

    /// The next one. May wait for long: the launcher ends it.
    ///
    /// @param why the failure that ended the last, or nothing
    Seat next(String why);

    @Override
    default void close() {}

    /// The one that these settings ask for.
    ///
    /// @param rehearsal what a process does before it asks for a place that others wait for it in
    static Seating of(WorkerSettings settings, Runnable rehearsal) {
        ElasticWorker worker = settings.elastic();
        return worker != null && settings.rendezvous() instanceof Rendezvous.At at
                ? new Asked(settings, worker, at, rehearsal)
                : new Given(settings);
    }

    /// By a variable, so that it is the same in each.
    final class Given implements Seating {
        private final WorkerSettings settings;
        private int generation;

        Given(WorkerSettings settings) {
            this.settings = settings;
        }

        @Override
        public Seat next(String why) {
            return new Seat(settings, new Fixed(generation++));
        }
    }

    /// A generation of a job whose processes stay.
    ///
    /// @param generation how many worlds this process has joined before
    record Fixed(int generation) implements Membership {
        @Override
        public boolean isElastic() {
            return false;
        }

        @Override
        public boolean sync() {
            return true;
        }

        @Override
        public long stamp() {
            return 0;
        }

        @Override
        public long newestStamp() {
            return 0;
        }

        @Override
        public void settled() {}
    }

    /// By asking the launcher, over one line for the life of the process.
    final class Asked implements Seating {
        private static final int NONE = -1;

        private final WorkerSettings settings;
        private final ElasticWorker worker;
        private final Rendezvous.At launcher;
        private final Runnable rehearsal;
        private @Nullable WorkerLine line;
        private volatile int settled = NONE;

        Asked(
                WorkerSettings settings,
                ElasticWorker worker,
                Rendezvous.At launcher,
                Runnable rehearsal) {
            this.settings = settings;
            this.worker = worker;
            this.launcher = launcher;
            this.rehearsal = rehearsal;
        }

        @Override
        public Seat next(String why) {
            WorkerLine open = line;
            if (open == null) {
                open = dial();
                line = open;
                if (open.isAwaited()) {
                    rehearsal.run();
                }
            }
            WorkerLine.Seat seat = open.ready(settled, why);
            int generation = seat.place().generation();
            return new Seat(
                    settingsAt(seat.place()), new Elastic(seat, open, () -> settled = generation));
        }

        private WorkerLine dial() {
            List<InetSocketAddress> desks =
                    launcher.addresses().stream()
                            .map(InetSocketAddress::getHostString)
                            .map(host -> InetSocketAddress.createUnresolved(host, worker.port()))
                            .toList();
            Secret secret =
                    Secret.decode(launcher.secret().text())
                            .with(Protection.of(settings.runtime().tls()));
            return WorkerLine.dial(
                    secret,
                    desks,
                    worker.number(),
                    settings.heartbeatTimeout(),
                    settings.startTimeout());
        }

        private WorkerSettings settingsAt(Place place) {
            return settings.at(
                    place.generation(),
                    new Position(place.rank(), place.size()),
                    new Position(place.localRank(), place.localSize()),
                    new Position(place.crossRank(), place.crossSize()));
        }

        @Override
        public void close() {
            WorkerLine open = line;
            if (open != null) {
                open.close();
            }
        }
    }

    /// A generation of an elastic job.
    ///
    /// @param line over which newer changes are heard
    /// @param settling notes that the process has the state of this generation
    record Elastic(WorkerLine.Seat seat, WorkerLine line, Runnable settling) implements Membership {
        @Override
        public int generation() {
            return seat.place().generation();
        }

        @Override
        public boolean isElastic() {
            return true;
        }

        @Override
        public boolean sync() {
            return seat.place().sync();
        }

        @Override
        public long stamp() {
            return seat.stamp();
        }

        @Override
        public long newestStamp() {
            return line.newestStamp();
        }

        @Override
        public void settled() {
            settling.run();
        }
    }
}

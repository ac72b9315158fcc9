package org.horovod4j.runtime;

import org.horovod4j.elastic.registry.GenerationMembership;
import org.horovod4j.elastic.registry.RegistryClient;
import org.horovod4j.elastic.registry.WorkerPlacement;
import org.horovod4j.option.ElasticWorker;
import org.horovod4j.option.RendezvousSettings;
import org.horovod4j.option.WorkerSettings;
import org.horovod4j.security.Protection;
import org.horovod4j.security.Secret;
import org.horovod4j.spi.RankAndSize;
import org.jspecify.annotations.Nullable;

import java.net.InetSocketAddress;
import java.util.List;

/// How a process gets its rank in each generation.
sealed interface RankAssignment extends AutoCloseable {
    /// A rank in a generation.
    ///
    /// @param settings of the process with this rank
    record AssignedRank(WorkerSettings settings, GenerationMembership membership) {}

    /// The rank in the next generation. May wait long for the launcher.
    ///
    /// @param why the failure that ended the last generation, or an empty text
    AssignedRank next(String why);

    @Override
    default void close() {}

    /// The assignment that these settings ask for.
    ///
    /// @param warmUp runs before a process asks for a place in a job that trains already
    static RankAssignment of(WorkerSettings settings, Runnable warmUp) {
        ElasticWorker worker = settings.elastic();
        return worker != null
                        && settings.rendezvousSettings() instanceof RendezvousSettings.Server server
                ? new ElasticAssignment(settings, worker, server, warmUp)
                : new StaticAssignment(settings);
    }

    /// The rank from a variable: the same in each generation.
    final class StaticAssignment implements RankAssignment {
        private final WorkerSettings settings;
        private int generation;

        StaticAssignment(WorkerSettings settings) {
            this.settings = settings;
        }

        @Override
        public AssignedRank next(String why) {
            return new AssignedRank(settings, new StaticMembership(generation++));
        }
    }

    /// A generation of a job that is not elastic.
    ///
    /// @param generation how many generations this process was in before
    record StaticMembership(int generation) implements GenerationMembership {
        @Override
        public boolean isElastic() {
            return false;
        }

        @Override
        public boolean sync() {
            return true;
        }

        @Override
        public long hostsVersion() {
            return 0;
        }

        @Override
        public long latestHostsVersion() {
            return 0;
        }

        @Override
        public void stateSynced() {}
    }

    /// The rank from the launcher, over one connection for the life of the process.
    final class ElasticAssignment implements RankAssignment {
        private static final int NONE = -1;

        private final WorkerSettings settings;
        private final ElasticWorker worker;
        private final RendezvousSettings.Server launcher;
        private final Runnable warmUp;
        private @Nullable RegistryClient connection;
        private volatile int settledGeneration = NONE;

        ElasticAssignment(
                WorkerSettings settings,
                ElasticWorker worker,
                RendezvousSettings.Server launcher,
                Runnable warmUp) {
            this.settings = settings;
            this.worker = worker;
            this.launcher = launcher;
            this.warmUp = warmUp;
        }

        @Override
        public AssignedRank next(String why) {
            RegistryClient open = connection;
            if (open == null) {
                open = connect();
                connection = open;
                if (open.isTrainingStarted()) {
                    warmUp.run();
                }
            }
            RegistryClient.WorkerAssignment workerAssignment =
                    open.requestAssignment(settledGeneration, why);
            int generation = workerAssignment.placement().generation();
            return new AssignedRank(
                    settingsAt(workerAssignment.placement()),
                    new ElasticMembership(
                            workerAssignment, open, () -> settledGeneration = generation));
        }

        private RegistryClient connect() {
            List<InetSocketAddress> desks =
                    launcher.addresses().stream()
                            .map(InetSocketAddress::getHostString)
                            .map(host -> InetSocketAddress.createUnresolved(host, worker.port()))
                            .toList();
            Secret secret =
                    Secret.decode(launcher.secret().text())
                            .withProtection(Protection.of(settings.runtime().tls()));
            return RegistryClient.connect(
                    secret,
                    desks,
                    worker.number(),
                    settings.heartbeatTimeout(),
                    settings.startTimeout());
        }

        private WorkerSettings settingsAt(WorkerPlacement workerPlacement) {
            return settings.withAssignment(
                    workerPlacement.generation(),
                    new RankAndSize(workerPlacement.rank(), workerPlacement.size()),
                    new RankAndSize(workerPlacement.localRank(), workerPlacement.localSize()),
                    new RankAndSize(workerPlacement.crossRank(), workerPlacement.crossSize()));
        }

        @Override
        public void close() {
            RegistryClient open = connection;
            if (open != null) {
                open.close();
            }
        }
    }

    /// A generation of an elastic job.
    ///
    /// @param connection reports newer changes of hosts
    /// @param onSettled records that the process has the state of this generation
    record ElasticMembership(
            RegistryClient.WorkerAssignment assignment,
            RegistryClient connection,
            Runnable onSettled)
            implements GenerationMembership {
        @Override
        public int generation() {
            return assignment.placement().generation();
        }

        @Override
        public boolean isElastic() {
            return true;
        }

        @Override
        public boolean sync() {
            return assignment.placement().sync();
        }

        @Override
        public long hostsVersion() {
            return assignment.hostsVersion();
        }

        @Override
        public long latestHostsVersion() {
            return connection.latestHostsVersion();
        }

        @Override
        public void stateSynced() {
            onSettled.run();
        }
    }
}

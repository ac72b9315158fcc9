package org.horovod4j.runtime;

import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.log.Log;
import org.horovod4j.option.RendezvousHost;
import org.horovod4j.option.RendezvousSettings;
import org.horovod4j.option.RendezvousSettings.SecretText;
import org.horovod4j.option.RuntimeSettings;
import org.horovod4j.option.WorkerSettings;
import org.horovod4j.rendezvous.RendezvousServer;
import org.horovod4j.security.Secret;
import org.horovod4j.spi.RankAndSize;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.IntStream;

/// Runs a small job of two ranks in this process, so that the JVM has loaded and compiled what a
/// worker needs to join.
///
/// The first run of code takes a JVM seconds where the second takes milliseconds: it loads classes
/// and interprets vector kernels. A worker that joins a running training warms up while the others
/// still compute, so that they wait less for it.
///
/// @param settings of the process
record WorkerWarmUp(WorkerSettings settings, Kernels kernels) {
    private static final Logger LOG = Log.of(WorkerWarmUp.class);
    private static final int RANKS = 2;

    /// After this many steps of [#ELEMENTS] the loops of the kernels are compiled.
    private static final int STEPS = 30;

    /// On a busy host a longer warm-up would cost more than it gains.
    private static final Duration LIMIT = Duration.ofSeconds(3);

    /// If one of the two ranks fails to start, the other must not wait as long as a rank of a job
    /// may.
    private static final Duration RENDEZVOUS_TIMEOUT = Duration.ofSeconds(5);

    /// Enough for the algorithms of large tensors.
    private static final int ELEMENTS = 1 << 18;

    /// Runs the warm-up. If it fails, the other ranks wait longer for this worker.
    ///
    /// @return whether it succeeded
    boolean run() {
        long start = System.nanoTime();
        Secret secret = Secret.random();
        try (RendezvousServer server =
                RendezvousServer.start(
                        secret,
                        RANKS,
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                        settings.heartbeatTimeout(),
                        RENDEZVOUS_TIMEOUT)) {
            RendezvousSettings rendezvousSettings =
                    new RendezvousSettings.Server(
                            List.of(server.address()),
                            RendezvousHost.LAUNCHER,
                            new SecretText(secret.encode()));
            CompletableFuture.allOf(
                            IntStream.range(0, RANKS)
                                    .mapToObj(
                                            rank ->
                                                    startRank(
                                                            settingsOf(rank, rendezvousSettings),
                                                            rendezvousSettings))
                                    .toArray(CompletableFuture<?>[]::new))
                    .join();
            LOG.log(Level.DEBUG, "warmed up for {0} ms", (System.nanoTime() - start) / 1_000_000);
            return true;
        } catch (RuntimeException e) {
            LOG.log(
                    Level.INFO,
                    "the warm-up failed; the other ranks will wait longer for this worker",
                    e instanceof CompletionException ? e.getCause() : e);
            return false;
        }
    }

    private CompletableFuture<Void> startRank(
            WorkerSettings rankSettings, RendezvousSettings rendezvousSettings) {
        return CompletableFuture.runAsync(
                () -> runRank(rankSettings, rendezvousSettings),
                task ->
                        Thread.ofPlatform()
                                .daemon()
                                .name("hvd-warmup-" + rankSettings.rank())
                                .start(task));
    }

    /// Without timeline and autotune, whose files belong to the job.
    private WorkerSettings settingsOf(int rank, RendezvousSettings rendezvousSettings) {
        RankAndSize place = new RankAndSize(rank, RANKS);
        return new WorkerSettings(
                settings.withAssignment(0, place, place, new RankAndSize(0, 1)).processIdentity(),
                settings.host(),
                rendezvousSettings,
                RENDEZVOUS_TIMEOUT,
                settings.heartbeatTimeout(),
                settings.interfaces(),
                settings.transport(),
                settings.shmFolder(),
                settings.kernels(),
                settings.allreduce(),
                RuntimeSettings.DEFAULT,
                null);
    }

    private void runRank(WorkerSettings rankSettings, RendezvousSettings rendezvousSettings) {
        RankBootstrap rankBootstrap =
                new RankBootstrap(
                        rankSettings, new RankAssignment.StaticMembership(0), kernels, null);
        try (Rank rank =
                rankBootstrap.startWithOthers(
                        () -> RendezvousEndpoint.open(rankSettings, rendezvousSettings))) {
            Communicator comm = rank.communicator();
            Tensor gradient = Tensor.zeros(DataType.FLOAT32, Shape.of(ELEMENTS));
            long start = System.nanoTime();
            long[] isOver = {0};
            for (int step = 0; step < STEPS && isOver[0] == 0; step++) {
                comm.allreduce("gradient", gradient, ReduceOp.AVERAGE);
                isOver[0] = System.nanoTime() - start > LIMIT.toNanos() ? 1 : 0;
                comm.allreduce("is over", Tensor.of(isOver), ReduceOp.MAX); // for both at once
            }
            comm.broadcast("weights", gradient, 0);
            List<Integer> _ = comm.broadcastObject("values", List.of(STEPS), 0);
            comm.barrier();
        }
    }
}

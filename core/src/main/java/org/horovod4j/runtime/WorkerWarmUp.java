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

/// A world of two threads in this process, in which everything is done once that others would wait for
/// in a real one.
///
/// What a JVM does for the first time takes it seconds where the second time takes milliseconds: classes
/// are loaded, vector kernels are interpreted. A worker that joins a training which runs rehearses
/// while the others still compute, so that they wait for what it does and not for how it learns to.
///
/// @param settings of the process
record WorkerWarmUp(WorkerSettings settings, Kernels kernels) {
    private static final Logger LOG = Log.of(WorkerWarmUp.class);
    private static final int RANKS = 2;

    /// After which the kernels' loops are compiled, at [#ELEMENTS] each.
    private static final int STEPS = 30;

    /// Beyond which a worker on a crowded host had better help than practise.
    private static final Duration LIMIT = Duration.ofSeconds(3);

    /// For the two to meet. If one fails before it does, the other would wait for all of the time that
    /// ranks of a job may take.
    private static final Duration RENDEZVOUS_TIMEOUT = Duration.ofSeconds(5);

    /// Enough for the way that large tensors take.
    private static final int ELEMENTS = 1 << 18;

    /// Does it. Nobody needs it to work: if it fails, others wait longer for this worker.
    ///
    /// @return whether it went well
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
            LOG.log(
                    Level.DEBUG,
                    "rehearsed for {0} ms, to keep the others waiting for less",
                    (System.nanoTime() - start) / 1_000_000);
            return true;
        } catch (RuntimeException e) {
            LOG.log(
                    Level.INFO,
                    "could not rehearse, so that the others will wait longer for this worker",
                    e instanceof CompletionException ? e.getCause() : e);
            return false;
        }
    }

    private CompletableFuture<Void> startRank(
            WorkerSettings seat, RendezvousSettings rendezvousSettings) {
        return CompletableFuture.runAsync(
                () -> runRank(seat, rendezvousSettings),
                task -> Thread.ofPlatform().daemon().name("hvd-warmup-" + seat.rank()).start(task));
    }

    /// No traces and no tuning, whose files belong to the job.
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

    private void runRank(WorkerSettings seat, RendezvousSettings rendezvousSettings) {
        RankBootstrap rankBootstrap =
                new RankBootstrap(seat, new RankAssignment.StaticMembership(0), kernels, null);
        try (Rank rank =
                rankBootstrap.startWithOthers(
                        () -> RendezvousEndpoint.open(seat, rendezvousSettings))) {
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

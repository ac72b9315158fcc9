package org.horovod4j.collectives;

import org.horovod4j.collectives.CountingLinks.Latency;
import org.horovod4j.collectives.algorithm.HelperThreads;
import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.option.AllreduceChoice;
import org.horovod4j.option.StreamingStoresChoice;
import org.horovod4j.security.Protection;
import org.horovod4j.spi.Activity;
import org.horovod4j.spi.ActivityRecorder;
import org.horovod4j.spi.CancellableBackend;
import org.horovod4j.testing.Layout;
import org.horovod4j.testing.World.Transport;
import org.horovod4j.transport.Clock;
import org.horovod4j.transport.IdleStrategy;
import org.horovod4j.transport.Liveness;
import org.horovod4j.transport.LocalGroup;
import org.horovod4j.transport.PointToPoint;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.IntFunction;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;

/// The backends of all ranks, each on its own thread, without a runtime. A test calls them as the
/// runtime would.
final class BackendWorld implements AutoCloseable {
    private final SimulatedHosts simulatedHosts;
    private final List<CancellableBackend> backends = new ArrayList<>();
    private final ExecutorService threads;

    /// How many bytes each rank has sent over links.
    private final List<AtomicLong> sentBytes = new ArrayList<>();

    /// How often each rank has called `Liveness.check` while it waited.
    private final AtomicLongArray livenessChecks;

    /// How often each rank has packed data.
    private final AtomicLongArray packs;

    private volatile boolean cancelled;

    private BackendWorld(Config config) {
        this.livenessChecks = new AtomicLongArray(config.size);
        this.packs = new AtomicLongArray(config.size);
        this.threads = Executors.newFixedThreadPool(config.size);
        this.simulatedHosts =
                new SimulatedHosts(config.size, config.transport, config.hosts, config.protection);
        boolean oversubscribed = config.size > Runtime.getRuntime().availableProcessors();
        for (int rank = 0; rank < config.size; rank++) {
            Liveness liveness = liveness(rank);
            IdleStrategy idleStrategy = new IdleStrategy(liveness, Clock.SYSTEM, oversubscribed);
            AllreduceSelector selector = new AllreduceSelector(CostModel.DEFAULT, config.allreduce);
            AtomicLong sent = new AtomicLong();
            sentBytes.add(sent);
            PointToPoint pointToPoint =
                    new PointToPoint(
                            new CountingLinks(
                                    simulatedHosts.links(rank, liveness), sent, config.latency),
                            idleStrategy);
            backends.add(
                    new CpuBackend(
                            new LocalGroup(simulatedHosts.memory(rank), idleStrategy),
                            new CrossGroup(simulatedHosts.topology(rank), pointToPoint, selector),
                            config.kernels.apply(rank),
                            packCounter(rank),
                            new HelperThreads(
                                    config.helpers.applyAsInt(rank),
                                    Thread.ofPlatform().daemon().factory(),
                                    () -> true),
                            config.streamingStores));
        }
    }

    /// The configuration of a world. It can be opened several times.
    ///
    /// @param hosts the host index of each rank
    /// @param kernels the kernels of each rank
    /// @param helpers how many helper threads each rank has
    /// @param streamingStores whether large allreduces use streaming stores
    record Config(
            int size,
            Transport transport,
            IntUnaryOperator hosts,
            IntFunction<Kernels> kernels,
            AllreduceChoice allreduce,
            Protection protection,
            IntUnaryOperator helpers,
            Latency latency,
            StreamingStoresChoice streamingStores) {

        /// Assigns ranks to hosts in turn, so that the ranks of a host are not adjacent.
        static Config of(Layout layout) {
            return new Config(
                    layout.size(),
                    layout.transport(),
                    rank -> rank % layout.hosts(),
                    _ -> Kernels.best(),
                    AllreduceChoice.AUTO,
                    Protection.of(layout.tls()),
                    _ -> 0,
                    Latency.NONE,
                    StreamingStoresChoice.AUTO);
        }

        Config withHosts(IntUnaryOperator hostOfRank) {
            return new Config(
                    size,
                    transport,
                    hostOfRank,
                    kernels,
                    allreduce,
                    protection,
                    helpers,
                    latency,
                    streamingStores);
        }

        Config withKernels(IntFunction<Kernels> kernelsOfRank) {
            return new Config(
                    size,
                    transport,
                    hosts,
                    kernelsOfRank,
                    allreduce,
                    protection,
                    helpers,
                    latency,
                    streamingStores);
        }

        Config withAllreduce(AllreduceChoice choice) {
            return new Config(
                    size,
                    transport,
                    hosts,
                    kernels,
                    choice,
                    protection,
                    helpers,
                    latency,
                    streamingStores);
        }

        Config withLatency(Latency linkLatency) {
            return new Config(
                    size,
                    transport,
                    hosts,
                    kernels,
                    allreduce,
                    protection,
                    helpers,
                    linkLatency,
                    streamingStores);
        }

        Config withHelpers(IntUnaryOperator helpersOfRank) {
            return new Config(
                    size,
                    transport,
                    hosts,
                    kernels,
                    allreduce,
                    protection,
                    helpersOfRank,
                    latency,
                    streamingStores);
        }

        Config withStreamingStores(StreamingStoresChoice choice) {
            return new Config(
                    size,
                    transport,
                    hosts,
                    kernels,
                    allreduce,
                    protection,
                    helpers,
                    latency,
                    choice);
        }

        BackendWorld open() {
            return new BackendWorld(this);
        }
    }

    /// The program of a rank.
    @FunctionalInterface
    interface Body {
        void run(int rank, CancellableBackend backend) throws Exception;
    }

    /// The program of a rank, with a result.
    @FunctionalInterface
    interface Task<T> {
        T apply(int rank, CancellableBackend backend) throws Exception;
    }

    /// Thrown in every waiting rank of a cancelled world.
    static final class CancelledException extends RuntimeException {
        private static final long serialVersionUID = 1L;
    }

    static void run(Layout layout, Body body) {
        try (BackendWorld world = Config.of(layout).open()) {
            world.run(body);
        }
    }

    int size() {
        return backends.size();
    }

    /// Runs `body` on each rank and returns when all have finished. If a rank fails, the waiting
    /// ranks are cancelled.
    void run(Body body) {
        List<Boolean> _ =
                call(
                        (rank, backend) -> {
                            body.run(rank, backend);
                            return true;
                        });
    }

    /// Runs `function` on each rank and returns the results, by rank.
    <T> List<T> call(Task<T> task) {
        List<Future<T>> futures =
                IntStream.range(0, size()).mapToObj(rank -> start(rank, task)).toList();
        List<T> results = new ArrayList<>();
        AssertionError failure = null;
        for (Future<T> future : futures) {
            try {
                results.add(future.get());
            } catch (ExecutionException e) {
                boolean first = failure == null || failure.getCause() instanceof CancelledException;
                AssertionError next = new AssertionError("a rank failed", e.getCause());
                if (first) {
                    failure = next;
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted while the world was running", e);
            }
        }
        if (failure != null) {
            throw failure;
        }
        return results;
    }

    /// Runs `function` on one rank only.
    <T> Future<T> start(int rank, Task<T> task) {
        return threads.submit(
                () -> {
                    try {
                        return task.apply(rank, backends.get(rank));
                    } catch (Exception | Error e) {
                        cancelled = true;
                        throw e;
                    }
                });
    }

    /// How often `rank` has called `Liveness.check` while it waited.
    long livenessChecks(int rank) {
        return livenessChecks.get(rank);
    }

    /// How often `rank` has packed data: once in each round of an allreduce through stages.
    long packs(int rank) {
        return packs.get(rank);
    }

    private ActivityRecorder packCounter(int rank) {
        return new ActivityRecorder() {
            @Override
            public long begin() {
                return 1;
            }

            @Override
            public long end(Activity activity, long since) {
                if (activity == Activity.MEMCPY_IN_FUSION_BUFFER) {
                    packs.incrementAndGet(rank);
                }
                return 1;
            }
        };
    }

    /// How many bytes `rank` has sent over links.
    long sentBytes(int rank) {
        return sentBytes.get(rank).get();
    }

    /// Makes every rank that waits throw.
    void cancel() {
        cancelled = true;
    }

    /// Resets all ranks. None may be in an operation.
    void reset() {
        backends.forEach(CancellableBackend::reset);
        cancelled = false;
    }

    @Override
    public void close() {
        threads.close();
        backends.forEach(CancellableBackend::close);
        simulatedHosts.close();
    }

    private Liveness liveness(int rank) {
        return () -> {
            livenessChecks.incrementAndGet(rank);
            if (cancelled) {
                throw new CancelledException();
            }
        };
    }
}

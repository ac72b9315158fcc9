package org.horovod4j.collectives;

import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.option.AllreduceChoice;
import org.horovod4j.security.Protection;
import org.horovod4j.spi.ActivityRecorder;
import org.horovod4j.spi.Backend;
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
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.IntFunction;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;

/// The backends of all ranks, each on a thread of its own, with no runtime above them: a test calls
/// them as the runtime would.
final class BackendWorld implements AutoCloseable {
    private final SimulatedHosts simulatedHosts;
    private final List<Backend> backends = new ArrayList<>();
    private final ExecutorService threads;

    /// How often each rank, while it waited, has asked whether to go on.
    private final AtomicLongArray livenessChecks;

    private volatile boolean cancelled;

    private BackendWorld(Config config) {
        this.livenessChecks = new AtomicLongArray(config.size);
        this.threads = Executors.newFixedThreadPool(config.size);
        this.simulatedHosts =
                new SimulatedHosts(config.size, config.transport, config.hosts, config.protection);
        boolean crowded = config.size > Runtime.getRuntime().availableProcessors();
        for (int rank = 0; rank < config.size; rank++) {
            Liveness liveness = liveness(rank);
            IdleStrategy idleStrategy = new IdleStrategy(liveness, Clock.SYSTEM, crowded);
            AllreduceSelector selector = new AllreduceSelector(CostModel.DEFAULT, config.allreduce);
            PointToPoint pointToPoint =
                    new PointToPoint(simulatedHosts.links(rank, liveness), idleStrategy);
            backends.add(
                    new CpuBackend(
                            new LocalGroup(simulatedHosts.memory(rank), idleStrategy),
                            new CrossGroup(simulatedHosts.topology(rank), pointToPoint, selector),
                            config.kernels.apply(rank),
                            ActivityRecorder.NONE));
        }
    }

    /// A world to be opened, as often as one likes.
    ///
    /// @param hosts the number of each rank's host
    /// @param kernels those of each rank
    record Config(
            int size,
            Transport transport,
            IntUnaryOperator hosts,
            IntFunction<Kernels> kernels,
            AllreduceChoice allreduce,
            Protection protection) {

        /// Hosts take turns, so that the ranks of one do not follow each other.
        static Config of(Layout layout) {
            return new Config(
                    layout.size(),
                    layout.transport(),
                    rank -> rank % layout.hosts(),
                    _ -> Kernels.best(),
                    AllreduceChoice.AUTO,
                    Protection.of(layout.tls()));
        }

        Config withHosts(IntUnaryOperator hostOfRank) {
            return new Config(size, transport, hostOfRank, kernels, allreduce, protection);
        }

        Config withKernels(IntFunction<Kernels> kernelsOfRank) {
            return new Config(size, transport, hosts, kernelsOfRank, allreduce, protection);
        }

        Config withAllreduce(AllreduceChoice choice) {
            return new Config(size, transport, hosts, kernels, choice, protection);
        }

        BackendWorld open() {
            return new BackendWorld(this);
        }
    }

    /// What a rank does.
    @FunctionalInterface
    interface Body {
        void run(int rank, Backend backend) throws Exception;
    }

    /// What a rank does and returns.
    @FunctionalInterface
    interface Task<T> {
        T apply(int rank, Backend backend) throws Exception;
    }

    /// Thrown in every rank that waits in a world that was given up.
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

    /// Runs `body` on each rank and returns when all have ended. Those that are left waiting by one
    /// that fails are given up.
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

    /// Runs `function` on one rank alone.
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

    /// How often `rank`, while it waited, has asked whether to go on.
    long livenessChecks(int rank) {
        return livenessChecks.get(rank);
    }

    /// Makes every rank that waits throw.
    void cancel() {
        cancelled = true;
    }

    /// Starts afresh on all ranks, none of which is in an operation.
    void reset() {
        backends.forEach(Backend::reset);
        cancelled = false;
    }

    @Override
    public void close() {
        threads.close();
        backends.forEach(Backend::close);
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

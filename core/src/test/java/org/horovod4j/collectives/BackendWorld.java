package org.horovod4j.collectives;

import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.option.AllreduceChoice;
import org.horovod4j.spi.Activities;
import org.horovod4j.spi.Backend;
import org.horovod4j.testing.Layout;
import org.horovod4j.testing.World.Transport;
import org.horovod4j.transport.Clock;
import org.horovod4j.transport.Liveness;
import org.horovod4j.transport.Neighbourhood;
import org.horovod4j.transport.Patience;
import org.horovod4j.transport.Wire;
import org.horovod4j.trust.Protection;

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
    private final Site site;
    private final List<Backend> backends = new ArrayList<>();
    private final ExecutorService threads;

    /// How often each rank, while it waited, has asked whether to go on.
    private final AtomicLongArray questions;

    private volatile boolean abandoned;

    private BackendWorld(Plan plan) {
        this.questions = new AtomicLongArray(plan.size);
        this.threads = Executors.newFixedThreadPool(plan.size);
        this.site = new Site(plan.size, plan.transport, plan.hosts, plan.protection);
        boolean crowded = plan.size > Runtime.getRuntime().availableProcessors();
        for (int rank = 0; rank < plan.size; rank++) {
            Liveness liveness = liveness(rank);
            Patience patience = new Patience(liveness, Clock.SYSTEM, crowded);
            AllreduceSelector selector = new AllreduceSelector(CostModel.DEFAULT, plan.allreduce);
            Wire wire = new Wire(site.links(rank, liveness), patience);
            backends.add(
                    new CpuBackend(
                            new Neighbourhood(site.memory(rank), patience),
                            new Across(site.topology(rank), wire, selector),
                            plan.kernels.apply(rank),
                            Activities.NONE));
        }
    }

    /// A world to be opened, as often as one likes.
    ///
    /// @param hosts the number of each rank's host
    /// @param kernels those of each rank
    record Plan(
            int size,
            Transport transport,
            IntUnaryOperator hosts,
            IntFunction<Kernels> kernels,
            AllreduceChoice allreduce,
            Protection protection) {

        /// Hosts take turns, so that the ranks of one do not follow each other.
        static Plan of(Layout layout) {
            return new Plan(
                    layout.size(),
                    layout.transport(),
                    rank -> rank % layout.hosts(),
                    _ -> Kernels.best(),
                    AllreduceChoice.AUTO,
                    Protection.of(layout.tls()));
        }

        Plan placed(IntUnaryOperator hostOfRank) {
            return new Plan(size, transport, hostOfRank, kernels, allreduce, protection);
        }

        Plan calculating(IntFunction<Kernels> kernelsOfRank) {
            return new Plan(size, transport, hosts, kernelsOfRank, allreduce, protection);
        }

        Plan choosing(AllreduceChoice choice) {
            return new Plan(size, transport, hosts, kernels, choice, protection);
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
    interface Function<T> {
        T apply(int rank, Backend backend) throws Exception;
    }

    /// Thrown in every rank that waits in a world that was given up.
    static final class AbandonedException extends RuntimeException {
        private static final long serialVersionUID = 1L;
    }

    static void run(Layout layout, Body body) {
        try (BackendWorld world = Plan.of(layout).open()) {
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
    <T> List<T> call(Function<T> function) {
        List<Future<T>> futures =
                IntStream.range(0, size()).mapToObj(rank -> start(rank, function)).toList();
        List<T> results = new ArrayList<>();
        AssertionError failure = null;
        for (Future<T> future : futures) {
            try {
                results.add(future.get());
            } catch (ExecutionException e) {
                boolean first = failure == null || failure.getCause() instanceof AbandonedException;
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
    <T> Future<T> start(int rank, Function<T> function) {
        return threads.submit(
                () -> {
                    try {
                        return function.apply(rank, backends.get(rank));
                    } catch (Exception | Error e) {
                        abandoned = true;
                        throw e;
                    }
                });
    }

    /// How often `rank`, while it waited, has asked whether to go on.
    long questions(int rank) {
        return questions.get(rank);
    }

    /// Makes every rank that waits throw.
    void abandon() {
        abandoned = true;
    }

    /// Starts afresh on all ranks, none of which is in an operation.
    void reset() {
        backends.forEach(Backend::reset);
        abandoned = false;
    }

    @Override
    public void close() {
        threads.close();
        backends.forEach(Backend::close);
        site.close();
    }

    private Liveness liveness(int rank) {
        return () -> {
            questions.incrementAndGet(rank);
            if (abandoned) {
                throw new AbandonedException();
            }
        };
    }
}

package org.horovod4j.runtime.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.Communicator;
import org.horovod4j.ProcessSet;
import org.horovod4j.runtime.fuzz.FuzzCall.RunningCall;
import org.horovod4j.runtime.fuzz.FuzzStep.RankActions;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/// Runs one rank's part of a script.
final class FuzzRank {
    private final Communicator world;
    private final FuzzMemory memory;
    private final List<CountDownLatch> looked;
    private final List<ProcessSet> sets = new ArrayList<>();

    /// @param looked for each step, opens when all ranks but the late one have polled
    private FuzzRank(
            Communicator world, long seed, List<Set<Integer>> sets, List<CountDownLatch> looked) {
        this.world = world;
        this.memory = new FuzzMemory(seed + world.rank());
        this.looked = looked;
        for (Set<Integer> each : sets) {
            this.sets.add(world.addProcessSet(each.stream().mapToInt(Integer::intValue).toArray()));
        }
    }

    /// The body of a world for a script.
    static org.horovod4j.testing.World.Body worldBody(
            List<FuzzStep> steps, long seed, List<Set<Integer>> sets, int ranks) {
        List<CountDownLatch> looked =
                steps.stream().map(_ -> new CountDownLatch(ranks - 1)).toList();
        return communicator -> {
            FuzzRank rank = new FuzzRank(communicator, seed, sets, looked);
            try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
                for (FuzzStep step : steps) {
                    rank.runStep(step, threads);
                }
            }
        };
    }

    private void runStep(FuzzStep step, ExecutorService threads) {
        try {
            if (!step.joined().contains(world.rank())) {
                run(step, threads);
            }
            if (!step.joined().isEmpty()) {
                assertThat(world.join()).as("last rank to join").isNotIn(step.joined());
            }
        } catch (RuntimeException | Error | InterruptedException | ExecutionException e) {
            throw new AssertionError("rank %d in %s".formatted(world.rank(), step), e);
        }
    }

    private void run(FuzzStep step, ExecutorService threads)
            throws InterruptedException, ExecutionException {
        boolean late = step.late() == world.rank();
        if (late) {
            looked.get(step.number()).await();
        }
        RankActions rankActions = step.parts().get(world.rank());
        Map<Integer, RunningCall> running = new ConcurrentHashMap<>();
        List<Future<?>> helpers = new ArrayList<>();
        for (List<Integer> share : rankActions.threads().subList(1, rankActions.threads().size())) {
            helpers.add(threads.submit(() -> submit(step, share, 0, running)));
        }
        submit(step, rankActions.threads().getFirst(), rankActions.waitAfter(), running);
        if (step.late() >= 0 && !late) {
            pollResults(step, running);
        }
        for (FuzzCall call : step.tail()) {
            call.start(world, memory).check();
        }
        for (Future<?> helper : helpers) {
            helper.get();
        }
        running.values().forEach(each -> end(each, rankActions.polls()));
    }

    private void pollResults(FuzzStep step, Map<Integer, RunningCall> running) {
        for (int i = 0; i < step.polls(); i++) {
            running.values().stream().findFirst().ifPresent(RunningCall::isDone);
        }
        looked.get(step.number()).countDown();
    }

    private void submit(
            FuzzStep step, List<Integer> share, int waitAfter, Map<Integer, RunningCall> running) {
        int submitted = 0;
        for (int index : share) {
            FuzzCall call = step.calls().get(index);
            int set = call.operation().set();
            if (set < 0) {
                running.put(index, call.start(world, memory));
            } else if (sets.get(set).isIncluded()) {
                running.put(index, call.start(sets.get(set).communicator(), memory));
            }
            if (++submitted == waitAfter && running.containsKey(share.getFirst())) {
                running.get(share.getFirst()).check();
            }
        }
    }

    private static void end(RunningCall runningCall, boolean polls) {
        while (polls && !runningCall.isDone()) {
            Thread.onSpinWait();
        }
        runningCall.check();
    }
}

package org.horovod4j.testing;

import static org.horovod4j.testing.TensorAssert.assertThat;

import org.horovod4j.Communicator;
import org.horovod4j.testing.WorkloadStep.Running;

import java.util.ArrayList;
import java.util.List;

/// A random mix of all collectives, the same on every rank, checked against their definition.
public final class RandomWorkload {
    /// How many asynchronous operations may be pending before the first is waited for.
    private static final int MAX_IN_FLIGHT = 7;

    private final List<WorkloadStep> steps;

    private RandomWorkload(List<WorkloadStep> steps) {
        this.steps = steps;
    }

    /// Generates operations; the same seed gives the same operations.
    ///
    /// @param maxElements the most elements of any rank's tensor
    public static RandomWorkload of(long seed, int ranks, int operations, int maxElements) {
        RandomSteps random = new RandomSteps(seed, ranks, maxElements);
        List<WorkloadStep> steps = new ArrayList<>();
        for (int i = 0; i < operations; i++) {
            steps.add(random.next());
        }
        return new RandomWorkload(steps);
    }

    public void run(Communicator communicator) {
        List<Running> running = new ArrayList<>();
        for (int i = 0; i < steps.size(); i++) {
            running.add(start(i, communicator));
            if (running.size() > MAX_IN_FLIGHT) {
                check(i - MAX_IN_FLIGHT, running.removeFirst(), communicator.rank());
            }
        }
        int first = steps.size() - running.size();
        for (int i = 0; i < running.size(); i++) {
            check(first + i, running.get(i), communicator.rank());
        }
    }

    private Running start(int index, Communicator communicator) {
        try {
            return steps.get(index).start(communicator, "operation " + index);
        } catch (RuntimeException e) {
            throw new AssertionError(describe(index), e);
        }
    }

    private void check(int index, Running running, int rank) {
        assertThat(running.join())
                .as(describe(index))
                .isBitwiseEqualTo(steps.get(index).expected(rank));
    }

    private String describe(int index) {
        return "operation %d, %s".formatted(index, steps.get(index));
    }
}

package org.horovod4j.pytorch.elastic;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.elastic.Elastic;
import org.horovod4j.elastic.ObjectState;
import org.horovod4j.pytorch.DistributedOptimizer;
import org.horovod4j.pytorch.TestNetwork;
import org.horovod4j.pytorch.TorchProcesses;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;

/// Trains with Adam until a file appears, whose name is the argument. Prints its state when a generation
/// begins and at the end.
final class ElasticTorchWorker {
    /// Leaves the processors to workers that start.
    private static final Duration STEP_PAUSE = Duration.ofMillis(20);

    private final TestNetwork network = TorchProcesses.newNetwork();
    private final DistributedOptimizer optimizer =
            DistributedOptimizer.wrap(network.adam(), network).overlap(true).build();
    private final ObjectState state =
            new ObjectState().with("net", new TorchState(network, optimizer)).with("step", 0);
    private final Path end;

    private ElasticTorchWorker(Path end) {
        this.end = end;
    }

    public static void main(String[] arguments) {
        ElasticTorchWorker worker = new ElasticTorchWorker(Path.of(arguments[0]));
        if (Elastic.run(worker.state, _ -> worker.train())) {
            worker.printEvent("done");
        }
        Hvd.shutdown();
    }

    private void train() {
        printEvent("begin");
        boolean hasMore = true;
        while (hasMore) {
            optimizer.zeroGrad();
            int from = (state.getInt("step") * Hvd.size() + Hvd.rank()) * 4;
            network.pass(from, from + 4);
            optimizer.step();
            state.set("step", state.getInt("step") + 1);
            float[] isLast = {Files.exists(end) ? 1 : 0}; // not seen by all at once
            Hvd.allreduce("last", isLast, ReduceOp.MAX);
            hasMore = isLast[0] == 0;
            if (hasMore) {
                state.commit();
                LockSupport.parkNanos(STEP_PAUSE.toNanos());
            }
        }
    }

    private void printEvent(String event) {
        IO.println(
                "%s generation=%d rank=%d size=%d pid=%d step=%d content=%08x"
                        .formatted(
                                event,
                                Hvd.membership().generation(),
                                Hvd.rank(),
                                Hvd.size(),
                                ProcessHandle.current().pid(),
                                state.getInt("step"),
                                Arrays.hashCode(network.weights())));
    }
}

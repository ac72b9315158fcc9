package org.horovod4j.nccl;

import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.cuda.GpuMemory;
import org.horovod4j.elastic.Elastic;
import org.horovod4j.elastic.ObjectState;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;

/// A worker of an elastic job that reduces on the first GPU until a file appears, whose name is the
/// argument. Each step adds 1 to all weights, so they show how many steps are in them.
///
/// Prints where it begins in each generation, how much memory of the GPU is in use after some steps of
/// the generation, and where it ends.
final class GpuElasticWorker {
    /// 32 MB: more than the noise of a measurement.
    private static final int LENGTH = 8 << 20;

    private static final int MEASURED_STEP = 10;

    private final Path end;
    private final float[] weights = new float[LENGTH];
    private final ObjectState state =
            new ObjectState().with("weights", weights).with("step", 0).with("ends", 0);

    private GpuElasticWorker(Path end) {
        this.end = end;
    }

    public static void main(String[] arguments) {
        new GpuElasticWorker(Path.of(arguments[0])).run();
    }

    private void run() {
        if (Elastic.run(state, _ -> train())) {
            print("done");
        }
        Hvd.shutdown();
    }

    private void train() {
        print("begin");
        Tensor gradient = Hvd.allocate(Device.cuda(0), DataType.FLOAT32, Shape.of(LENGTH));
        float[] values = new float[LENGTH];
        for (int step = 0; state.getInt("ends") == 0; step++) {
            Arrays.fill(values, Hvd.rank());
            Hvd.copy(Tensor.of(values), gradient);
            Hvd.allreduce("gradient", gradient, ReduceOp.SUM);
            Hvd.copy(gradient, Tensor.of(values));
            float sum = Hvd.size() * (Hvd.size() - 1) / 2f;
            for (int i = 0; i < LENGTH; i++) {
                weights[i] += values[i] + 1 - sum;
            }
            state.set("step", state.getInt("step") + 1);
            int[] ends = {Hvd.rank() == 0 && Files.exists(end) ? 1 : 0};
            Hvd.allreduce("ends", ends, ReduceOp.MAX);
            state.set("ends", ends[0]);
            state.commit();
            if (step == MEASURED_STEP) {
                printMemory();
            }
        }
    }

    /// Frees the tensors of earlier generations first, which another thread does.
    private static void printMemory() {
        System.gc();
        LockSupport.parkNanos(Duration.ofMillis(300).toNanos());
        Hvd.barrier();
        System.out.printf(
                "memory generation=%d rank=%d used=%d%n",
                Hvd.membership().generation(), Hvd.rank(), GpuMemory.used());
        Hvd.barrier();
    }

    private void print(String event) {
        System.out.printf(
                "%s generation=%d rank=%d pid=%d step=%d weights=%s%n",
                event,
                Hvd.membership().generation(),
                Hvd.rank(),
                ProcessHandle.current().pid(),
                state.getInt("step"),
                weightsText());
    }

    /// The value of all weights, or the first two that differ.
    private String weightsText() {
        for (float weight : weights) {
            if (weight != weights[0]) {
                return weights[0] + "," + weight;
            }
        }
        return Integer.toString((int) weights[0]);
    }
}

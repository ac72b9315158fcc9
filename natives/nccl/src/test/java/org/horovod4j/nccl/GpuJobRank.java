package org.horovod4j.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.Handle;
import org.horovod4j.HorovodException;
import org.horovod4j.Hvd;
import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.compression.Compression;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/// A rank of a job on the first GPU that uses the API, as programs do.
///
/// Arguments: what to do, `killed`, `sizes` or `sets`.
final class GpuJobRank {
    private static final Device GPU = Device.cuda(0);

    private GpuJobRank() {}

    public static void main(String[] arguments) throws Exception {
        Hvd.init();
        switch (arguments[0]) {
            case "killed" -> killed();
            case "sizes" -> sizes();
            case "sets" -> sets();
            default -> throw new IllegalArgumentException(arguments[0]);
        }
        Hvd.shutdown();
    }

    /// The last rank is killed while all ranks are inside an allreduce. The others print what they see,
    /// and when.
    private static void killed() throws IOException, InterruptedException {
        Tensor small = Hvd.allocate(GPU, DataType.FLOAT32, Shape.of(1));
        Hvd.allreduce("connects", small, ReduceOp.SUM);
        // 2 GB each: all of them take more than a second, also in the memory of one GPU
        Tensor large = Hvd.allocate(GPU, DataType.FLOAT32, Shape.of(512 << 20));
        List<Handle<Tensor>> pending = new ArrayList<>();
        for (int i = 0; i < 64; i++) {
            pending.add(Hvd.allreduceAsync("large " + i, large, ReduceOp.SUM));
        }
        if (Hvd.rank() == Hvd.size() - 1) {
            Thread.sleep(200); // the others are inside one of them
            System.out.printf(
                    "KILLED at %d, pending %d%n",
                    System.currentTimeMillis(),
                    pending.stream().filter(each -> !each.isDone()).count());
            System.out.flush();
            new ProcessBuilder("kill", "-9", Long.toString(ProcessHandle.current().pid()))
                    .start()
                    .waitFor();
        }
        try {
            pending.forEach(Handle::join);
            System.out.println("LOST nothing");
        } catch (HorovodException e) {
            System.out.printf(
                    "LOST %s at %d: %s%n",
                    e.getClass().getSimpleName(),
                    System.currentTimeMillis(),
                    String.valueOf(e.getMessage()).lines().findFirst().orElse(""));
        }
        System.out.flush();
    }

    /// Allreduce of many sizes, types and ops, each compared with that of main memory.
    private static void sizes() {
        int checked = 0;
        for (int length : new int[] {0, 1, 5, 1000, 5_000_001}) {
            float[] values = new float[length];
            for (int i = 0; i < length; i++) {
                values[i] = i % 11 - 4 + Hvd.rank();
            }
            for (AllreduceOptions options :
                    List.of(
                            AllreduceOptions.sum(),
                            AllreduceOptions.average(),
                            AllreduceOptions.of(ReduceOp.MAX),
                            AllreduceOptions.sum().withPrescale(0.5).withPostscale(4),
                            AllreduceOptions.sum().withCompressor(Compression.FP16))) {
                Tensor onHost = Tensor.of(values.clone());
                Tensor onGpu = Hvd.allocate(GPU, DataType.FLOAT32, Shape.of(length));
                Hvd.copy(onHost, onGpu);
                Hvd.allreduce("host", onHost, options);
                Hvd.allreduce("gpu", onGpu, options);
                float[] result = new float[length];
                Hvd.copy(onGpu, Tensor.of(result));
                // small numbers: every order of additions gives the same
                assertThat(result).as("%d, %s", length, options).isEqualTo(onHost.toFloatArray());
                checked++;
            }
        }
        System.out.printf("rank %d checked %d sizes%n", Hvd.rank(), checked);
    }

    /// Process sets that overlap reduce at the same time: each has its own communicator.
    private static void sets() {
        List<List<Integer>> members = List.of(List.of(0, 1), List.of(1, 2), List.of(0, 2));
        List<Communicator> sets = new ArrayList<>(List.of(Hvd.communicator()));
        for (List<Integer> ranks : members) {
            ProcessSet set =
                    Hvd.addProcessSet(ranks.stream().mapToInt(Integer::intValue).toArray());
            if (ranks.contains(Hvd.rank())) {
                sets.add(set.communicator());
            }
        }
        int checked = 0;
        for (int round = 0; round < 20; round++) {
            List<Handle<Tensor>> handles = new ArrayList<>();
            List<Tensor> tensors = new ArrayList<>();
            for (int i = 0; i < sets.size(); i++) {
                // each rank submits in another order
                Communicator set = sets.get((i + Hvd.rank()) % sets.size());
                Tensor tensor = Hvd.allocate(GPU, DataType.FLOAT32, Shape.of(100_000));
                float[] values = new float[100_000];
                Arrays.fill(values, 1 + set.rank() + round);
                Hvd.copy(Tensor.of(values), tensor);
                tensors.add(tensor);
                handles.add(set.allreduceAsync("t", tensor, ReduceOp.SUM));
            }
            for (int i = 0; i < sets.size(); i++) {
                Communicator set = sets.get((i + Hvd.rank()) % sets.size());
                handles.get(i).join();
                float[] values = new float[100_000];
                Hvd.copy(tensors.get(i), Tensor.of(values));
                int base = 1 + round;
                float expected = IntStream.range(0, set.size()).map(member -> base + member).sum();
                assertThat(values).containsOnly(expected);
                checked++;
            }
        }
        System.out.printf("rank %d checked %d sums%n", Hvd.rank(), checked);
    }
}

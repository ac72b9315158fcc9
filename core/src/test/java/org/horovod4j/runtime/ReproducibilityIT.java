package org.horovod4j.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.Communicator;
import org.horovod4j.Handle;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.option.AllreduceChoice;
import org.horovod4j.option.Options;
import org.horovod4j.testing.World;
import org.horovod4j.testing.World.Transport;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.SplittableRandom;

/// The same program gives the same bits in every run, whatever the timing of its threads: what is
/// fused, and so the order of additions in a ring, depends only on the program.
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD) // a hang would never end
class ReproducibilityIT {
    private static final int STEPS = 10;
    private static final int[] LENGTHS = {10_007, 3, 100_003, 1_009, 65_536, 1, 40_009};

    /// The powers of 7.3 from 0 to 8.
    private static final float[] MAGNITUDES = magnitudes();

    private static float[] magnitudes() {
        float[] powers = new float[9];
        for (int i = 0; i < powers.length; i++) {
            powers[i] = (float) Math.pow(7.3, i);
        }
        return powers;
    }

    /// Several fused tensors whose sums depend on the order of their terms.
    private static List<Integer> program(Communicator comm, long timing) {
        Random random = new Random(timing + comm.rank());
        List<Integer> hashes = new ArrayList<>();
        for (int step = 0; step < STEPS; step++) {
            List<Integer> order = new ArrayList<>();
            for (int i = 0; i < LENGTHS.length; i++) {
                order.add(i);
            }
            if (comm.rank() > 0) { // the first rank's order is the program's
                Collections.shuffle(order, random);
            }
            List<Handle<Tensor>> handles =
                    new ArrayList<>(Collections.nCopies(LENGTHS.length, null));
            for (int i : order) {
                Tensor tensor = roughTensor(LENGTHS[i], 31L * step + i, comm.rank());
                handles.set(i, comm.allreduceAsync("t" + i, tensor, ReduceOp.SUM));
                for (int spin = random.nextInt(20_000); spin > 0; spin--) {
                    Thread.onSpinWait();
                }
            }
            for (Handle<Tensor> handle : handles) {
                hashes.add(Arrays.hashCode(handle.join().toFloatArray()));
            }
        }
        return hashes;
    }

    /// Terms of very different magnitude, whose sums round.
    private static Tensor roughTensor(int length, long seed, int rank) {
        SplittableRandom random = new SplittableRandom(seed);
        float[] terms = new float[length];
        for (int i = 0; i < length; i++) {
            terms[i] = (random.nextInt(-2, 3) / 4f + 0.1f) * MAGNITUDES[(i + 3 * rank) % 9];
        }
        return Tensor.of(terms);
    }

    @ParameterizedTest(name = "{0} ranks on {1} hosts via {2}, {3}")
    @CsvSource({
        "5, 3, LOCAL, AUTO",
        "6, 3, LOCAL, RING",
        "5, 3, SHM, RING",
        "5, 1, TCP, RING",
        "4, 1, SHM, AUTO"
    })
    void resultsAreTheSameBitsInEveryRun(
            int size, int hosts, Transport transport, AllreduceChoice allreduce) {
        World world =
                World.of(size)
                        .hosts(hosts)
                        .via(transport)
                        .with(
                                Map.of(
                                        Options.ALLREDUCE_ALGORITHM.variable(),
                                        Options.ALLREDUCE_ALGORITHM.format(allreduce)));
        List<List<Integer>> first = world.call(comm -> program(comm, 1));
        for (List<Integer> rank : first) {
            assertThat(rank).isEqualTo(first.getFirst());
        }
        for (int run = 2; run < 5; run++) {
            long timing = 1_000L * run;
            assertThat(world.call(comm -> program(comm, timing))).isEqualTo(first);
        }
    }
}

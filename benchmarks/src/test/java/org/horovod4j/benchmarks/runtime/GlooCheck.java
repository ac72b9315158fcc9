package org.horovod4j.benchmarks.runtime;

import org.horovod4j.testing.World;

import java.time.Duration;

/// Runs the variants with Gloo on two ranks. A program of its own: PyTorch needs another JavaCPP than
/// TensorFlow, which the tests have.
public final class GlooCheck {
    private GlooCheck() {}

    public static void main(String[] arguments) {
        World.run(
                2,
                comm -> {
                    StepTimer timer = new StepTimer(comm, Duration.ofMillis(1));
                    for (String variant : arguments) {
                        VariantRunner runner =
                                new VariantRunner(
                                        comm,
                                        StepVariant.parse(variant),
                                        Workload.TINY,
                                        () -> {},
                                        timer);
                        runner.verify();
                        runner.verify();
                        if (comm.rank() == 0) {
                            System.out.println(variant + " sums all tensors");
                        }
                    }
                });
    }
}

package org.horovod4j.benchmarks.training.pytorch;

import org.horovod4j.benchmarks.training.TrainingMode;
import org.horovod4j.pytorch.HvdTorch;
import org.horovod4j.testing.World;

import java.util.List;

/// Trains on two ranks in every mode. A program of its own: PyTorch needs another JavaCPP than
/// TensorFlow, which the tests have.
public final class TorchTrainingCheck {
    private TorchTrainingCheck() {}

    /// Prints a line for each mode: the bytes of the gradients, whether weights change, and whether they
    /// are equal on both ranks.
    public static void main(String[] arguments) {
        HvdTorch.load();
        for (TrainingMode mode : TrainingMode.values()) {
            World.run(
                    2,
                    comm -> {
                        try (TorchTraining training = new TorchTraining(comm, mode, 4, 28)) {
                            long start = training.checksum();
                            training.warmUpStep();
                            long _ = training.step();
                            training.checkMode();
                            List<Long> checksums =
                                    comm.allgatherObject("checksums", training.checksum());
                            if (comm.rank() == 0) {
                                System.out.printf(
                                        "%s: %d bytes, %s, %s%n",
                                        mode,
                                        training.gradientBytes(),
                                        training.checksum() == start ? "unchanged" : "changed",
                                        checksums.getFirst().equals(checksums.getLast())
                                                ? "equal"
                                                : "different");
                            }
                        }
                    });
        }
    }
}

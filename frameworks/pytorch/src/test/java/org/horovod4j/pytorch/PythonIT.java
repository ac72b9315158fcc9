package org.horovod4j.pytorch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.IValueVector;
import org.bytedeco.pytorch.JitModule;
import org.bytedeco.pytorch.OutputArchive;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.horovod4j.testing.World;
import org.horovod4j.testsupport.SystemPackages;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/// Files between this module and PyTorch in Python.
@Tag("slow")
class PythonIT {
    /// Debian's Python, for which Debian has PyTorch.
    private static final String PYTHON = "/usr/bin/python3";

    @TempDir private Path folder;

    @BeforeAll
    static void requirePython() throws Exception {
        SystemPackages.require(List.of("torchrun"), List.of("python3-torch"));
        assumeTrue(run("import torch").isEmpty(), "python3 has no torch");
        HvdTorch.load();
    }

    private static String run(String program) throws IOException, InterruptedException {
        Process python =
                new ProcessBuilder(PYTHON, "-W", "ignore", "-c", program)
                        .redirectErrorStream(true)
                        .start();
        String output = new String(python.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(python.waitFor()).as(output).isZero();
        return output.strip();
    }

    private static String sum(float[] values) {
        double sum = 0;
        for (float each : values) {
            sum += each;
        }
        return String.format(Locale.ROOT, "%.4f", sum);
    }

    @Test
    void pythonReadsASavedModule() throws Exception {
        TestNetwork network = TorchProcesses.newNetwork();
        Path file = folder.resolve("net.pt");
        try (OutputArchive archive = new OutputArchive()) {
            network.save(archive);
            archive.save_to(file.toString());
        }
        String found =
                run(
                        """
                        import torch
                        state = torch.jit.load('%s').state_dict()
                        print(','.join(state), '%%.4f' %% sum(t.double().sum().item() for t in state.values()))
                        """
                                .formatted(file));
        assertThat(found)
                .isEqualTo(
                        "first.weight,first.bias,second.weight,second.bias "
                                + sum(network.weights()));
    }

    @Test
    void moduleOfPythonTrainsAndReturns() throws Exception {
        Path file = folder.resolve("script.pt");
        assertThat(
                        run(
                                """
                                import torch
                                net = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.BatchNorm1d(4),
                                                          torch.nn.ReLU(), torch.nn.Linear(4, 1))
                                torch.jit.script(net).save('%s')
                                """
                                        .formatted(file)))
                .isEmpty();
        World.run(
                2,
                comm -> {
                    JitModule module = torch.load(file.toString());
                    module.train();
                    DistributedOptimizer optimizer =
                            DistributedOptimizer.wrap(
                                            new SGD(
                                                    new TensorVector(
                                                            TorchParameters.named(module)
                                                                    .values()
                                                                    .toArray(Tensor[]::new)),
                                                    new SGDOptions(0.1)),
                                            module)
                                    .communicator(comm)
                                    .build();
                    float[] before = TestNetwork.weights(TorchParameters.named(module));
                    for (int step = 0; step < 3; step++) {
                        optimizer.zeroGrad();
                        Tensor inputs =
                                TensorMemory.newTensor(
                                        TestNetwork.sines(comm.rank() * 3 + step, 8, 5));
                        module.forward(new IValueVector(new IValue(inputs)))
                                .toTensor()
                                .pow(new Scalar(2))
                                .mean()
                                .backward();
                        optimizer.step();
                    }
                    assertThat(TestNetwork.weights(TorchParameters.named(module)))
                            .isNotEqualTo(before);
                    if (comm.rank() == 0) {
                        module.save(folder.resolve("trained.pt").toString());
                    }
                });
        JitModule trained = torch.load(folder.resolve("trained.pt").toString());
        assertThat(
                        run(
                                """
                                import torch
                                net = torch.jit.load('%s')
                                print('%%.4f' %% sum(t.double().sum().item() for t in net.parameters()))
                                """
                                        .formatted(folder.resolve("trained.pt"))))
                .isEqualTo(sum(TestNetwork.weights(TorchParameters.named(trained))));
    }
}

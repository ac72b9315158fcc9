package org.horovod4j.pytorch;

import static org.assertj.core.api.Assertions.assertThat;

import org.assertj.core.data.Offset;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.IValueVector;
import org.bytedeco.pytorch.JitModule;
import org.bytedeco.pytorch.QualifiedName;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.horovod4j.Communicator;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/// Modules in the format of `torch.jit.save`, which several processes train.
class TorchScriptIT {
    private static final int STEPS = 5;

    @TempDir private Path folder;

    @BeforeAll
    static void load() {
        HvdTorch.load();
    }

    /// A module as Python writes it: parameters, and `forward` in the language of TorchScript.
    private Path save() {
        JitModule module = new JitModule(new QualifiedName("Net"));
        module.register_parameter(
                "weight",
                TensorMemory.newTensor(TestNetwork.sines(1, 3, 5)).set_requires_grad(true),
                false);
        module.register_parameter(
                "bias",
                TensorMemory.newTensor(TestNetwork.sines(2, 3)).set_requires_grad(true),
                false);
        module.register_buffer("offset", torch.ones(3));
        module.define(
                """
                def forward(self, x):
                    return torch.tanh(torch.linear(x, self.weight, self.bias)) + self.offset
                """);
        Path file = folder.resolve("net.pt");
        module.save(file.toString());
        return file;
    }

    private static Tensor loss(JitModule module, int from, int to) {
        Tensor inputs =
                TensorMemory.newTensor(TestNetwork.sines(9, 8, 5)).narrow(0, from, to - from);
        return module.forward(new IValueVector(new IValue(inputs)))
                .toTensor()
                .pow(new Scalar(2))
                .mean();
    }

    private static SGD sgd(JitModule module) {
        return new SGD(
                new TensorVector(TorchParameters.named(module).values().toArray(Tensor[]::new)),
                new SGDOptions(0.5));
    }

    @Test
    void loadedModuleTrainsOnTwoProcessesAsOnOne() {
        String file = save().toString();
        JitModule plain = torch.load(file);
        SGD sgd = sgd(plain);
        for (int step = 0; step < STEPS; step++) {
            sgd.zero_grad();
            loss(plain, 0, 8).backward();
            sgd.step();
        }
        float[] expected = TestNetwork.weights(TorchParameters.named(plain));

        List<Map<String, float[]>> ranks =
                TorchProcesses.launcher(2).run(comm -> train(comm, file));

        float[] first = Objects.requireNonNull(ranks.getFirst().get("trained"));
        assertThat(first).containsExactly(expected, Offset.offset(1e-5f));
        assertThat(ranks)
                .allSatisfy(
                        rank ->
                                assertThat(rank)
                                        .containsEntry("trained", first)
                                        .containsEntry("saved", first));
    }

    /// The weights after training, and those in the file that this rank has written.
    private static Map<String, float[]> train(Communicator comm, String file) {
        HvdTorch.load();
        JitModule module = torch.load(file);
        if (comm.rank() != 0) { // the broadcast must restore it
            TensorMemory.write(
                    Objects.requireNonNull(TorchParameters.named(module).get("weight")),
                    TestNetwork.sines(7, 3, 5));
        }
        TorchParameters.broadcast(comm, TorchParameters.withBuffers(module), 0);
        DistributedOptimizer optimizer =
                DistributedOptimizer.wrap(sgd(module), module)
                        .communicator(comm)
                        .overlap(true)
                        .build();
        for (int step = 0; step < STEPS; step++) {
            optimizer.zeroGrad();
            loss(module, comm.rank() * 4, comm.rank() * 4 + 4).backward();
            optimizer.step();
        }
        String copy = file + ".trained" + comm.rank();
        module.save(copy);
        assertThat(optimizer.overlap().isUsed()).isTrue();
        return Map.of(
                "trained",
                TestNetwork.weights(TorchParameters.named(module)),
                "saved",
                TestNetwork.weights(TorchParameters.named(torch.load(copy))));
    }

    @Test
    void parametersAndBuffersHaveTheNamesOfPython() {
        assertThat(TorchParameters.withBuffers(torch.load(save().toString())))
                .containsOnlyKeys("weight", "bias", "offset");
    }
}

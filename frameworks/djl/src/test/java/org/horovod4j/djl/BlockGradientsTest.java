package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;

import org.horovod4j.Device;
import org.horovod4j.DeviceStream;
import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;
import org.horovod4j.djl.engine.BackwardHooks;
import org.horovod4j.djl.engine.EngineAccess;
import org.horovod4j.optim.Gradient;
import org.horovod4j.option.HookChoice;
import org.junit.jupiter.api.Test;

import java.lang.foreign.MemorySegment;
import java.util.Optional;

class BlockGradientsTest {
    /// The result of an operation on a GPU is another object than its input, for the same memory. A
    /// program clips the gradient in that memory.
    @Test
    void gradientReducedOnADeviceIsAppliedFromTheMemoryOfTheEngine() {
        try (TestTraining training =
                new TestTraining(
                        TestTraining.network(), _ -> TestTraining.sgd(), TestTraining.INPUT)) {
            training.pass(0, 1);
            BlockParameters parameters = new BlockParameters(training.model.getBlock());
            int parameter = parameters.trainable().nextSetBit(0);
            BlockGradients gradients =
                    new BlockGradients(
                            parameters,
                            new OnDevice(EngineAccess.of(parameters.array(parameter).getManager())),
                            () -> true,
                            _ -> true);
            Gradient.Dense launched = (Gradient.Dense) gradients.acquire(parameter);
            assertThat(launched.tensor().producer()).isPresent();
            gradients.setReduced(parameter, new Gradient.Dense(launched.tensor().ready()));
            try (NDArray clipped = parameters.array(parameter).getGradient()) {
                NDArray _ = clipped.muli(0.5f);
                try (NDArray applied = gradients.gradientToApply(parameter)) {
                    assertThat(applied.toFloatArray()).containsExactly(clipped.toFloatArray());
                }
            }
        }
    }

    /// Shows arrays in main memory as tensors of a GPU, at the same addresses.
    private record OnDevice(EngineAccess engine) implements EngineAccess {
        private static final Device GPU = Device.cuda(0);

        @Override
        public Optional<Tensor> tensor(NDArray array) {
            return engine.tensor(array)
                    .map(
                            tensor ->
                                    Tensor.of(
                                                    GPU,
                                                    tensor.segment().address(),
                                                    tensor.dataType(),
                                                    tensor.shape())
                                            .readyOn(new DeviceStream(GPU, 1)));
        }

        /// A copy of a gradient would be written to memory of a GPU.
        @Override
        public void write(NDArray array, Tensor from) {
            throw new AssertionError("the gradient is copied");
        }

        @Override
        public Optional<MemorySegment> memory(NDArray array) {
            return engine.memory(array);
        }

        @Override
        public boolean moveInto(NDArray array, MemorySegment memory) {
            return engine.moveInto(array, memory);
        }

        @Override
        public void await(NDArray array) {
            engine.await(array);
        }

        @Override
        public Optional<SparseTensor> sparse(NDArray array) {
            return engine.sparse(array);
        }

        @Override
        public boolean accumulates() {
            return engine.accumulates();
        }

        @Override
        public BackwardHooks hooks(HookChoice choice) {
            return engine.hooks(choice);
        }
    }
}

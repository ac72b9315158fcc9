package org.horovod4j.examples;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BenchmarkModelTest {
    /// The numbers of trained parameters, as Keras has them.
    @ParameterizedTest
    @Tag("slow")
    @CsvSource({"INCEPTION_V3, 23817352", "VGG16, 138357544"})
    void networkHasAsManyParametersAsPublished(BenchmarkModel model, long parameters) {
        try (NDManager manager = NDManager.newBaseManager()) {
            Block block = model.block(1000);
            block.initialize(
                    manager, DataType.FLOAT32, new Shape(1, 3, model.pixels(), model.pixels()));
            assertThat(
                            block.getParameters().values().stream()
                                    .filter(Parameter::requiresGradient)
                                    .mapToLong(parameter -> parameter.getArray().size())
                                    .sum())
                    .isEqualTo(parameters);
        }
    }
}

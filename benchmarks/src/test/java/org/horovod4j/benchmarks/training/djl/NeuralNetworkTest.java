package org.horovod4j.benchmarks.training.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import ai.djl.ndarray.types.Shape;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class NeuralNetworkTest {
    @ParameterizedTest
    @EnumSource
    void isFoundByItsName(NeuralNetwork neuralNetwork) {
        assertThat(NeuralNetwork.parse(neuralNetwork.toString())).isEqualTo(neuralNetwork);
    }

    @Test
    void unknownNameErrorListsTheValidNames() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> NeuralNetwork.parse("vgg16"))
                .withMessageContaining("'vgg16'")
                .withMessageContaining("resnet50");
    }

    @Test
    void inputShapeMatchesTheNetwork() {
        assertThat(NeuralNetwork.RESNET50.input(8, 224)).isEqualTo(new Shape(8, 3, 224, 224));
        assertThat(NeuralNetwork.MNIST.input(64, 28)).isEqualTo(new Shape(64, 1, 28, 28));
    }

    @Test
    void warmUpInputIsSmall() {
        assertThat(NeuralNetwork.RESNET50.warmUpInput(8, 224)).isEqualTo(new Shape(2, 3, 64, 64));
        assertThat(NeuralNetwork.RESNET50.warmUpInput(1, 32)).isEqualTo(new Shape(1, 3, 32, 32));
        assertThat(NeuralNetwork.MNIST.warmUpInput(64, 28)).isEqualTo(new Shape(2, 1, 28, 28));
    }
}

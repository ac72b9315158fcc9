package org.horovod4j.benchmarks.training.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import ai.djl.ndarray.types.Shape;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class NetworkTest {
    @ParameterizedTest
    @EnumSource
    void isFoundByItsName(Network network) {
        assertThat(Network.parse(network.toString())).isEqualTo(network);
    }

    @Test
    void anUnknownOneIsToldTheKnownOnes() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Network.parse("vgg16"))
                .withMessageContaining("'vgg16'")
                .withMessageContaining("resnet50");
    }

    @Test
    void takesImagesOfItsKind() {
        assertThat(Network.RESNET50.input(8, 224)).isEqualTo(new Shape(8, 3, 224, 224));
        assertThat(Network.MNIST.input(64, 28)).isEqualTo(new Shape(64, 1, 28, 28));
    }

    @Test
    void takesFewAndSmallImagesToWarmUpBy() {
        assertThat(Network.RESNET50.smallInput(8, 224)).isEqualTo(new Shape(2, 3, 64, 64));
        assertThat(Network.RESNET50.smallInput(1, 32)).isEqualTo(new Shape(1, 3, 32, 32));
        assertThat(Network.MNIST.smallInput(64, 28)).isEqualTo(new Shape(2, 1, 28, 28));
    }
}

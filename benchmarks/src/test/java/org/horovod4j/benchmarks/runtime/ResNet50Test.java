package org.horovod4j.benchmarks.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.Shape;
import org.junit.jupiter.api.Test;

import java.util.List;

class ResNet50Test {
    private final List<ModelParameter> parameters = ResNet50.parameters();

    @Test
    void hasThePublishedNumberOfTensorsAndParameters() {
        assertThat(parameters).hasSize(161);
        assertThat(parameters.stream().mapToLong(p -> p.shape().elementCount()).sum())
                .isEqualTo(25_557_032);
    }

    @Test
    void tensorNamesAreUnique() {
        assertThat(parameters).extracting(ModelParameter::name).doesNotHaveDuplicates();
    }

    @Test
    void parametersFollowTheForwardPass() {
        assertThat(parameters.getFirst().shape()).isEqualTo(Shape.of(64, 3, 7, 7));
        assertThat(shape("stage1.block1.shortcut.weight")).isEqualTo(Shape.of(256, 64, 1, 1));
        assertThat(shape("stage2.block1.narrow.weight")).isEqualTo(Shape.of(128, 256, 1, 1));
        assertThat(shape("stage4.block3.middle.weight")).isEqualTo(Shape.of(512, 512, 3, 3));
        assertThat(shape("classifier.weight")).isEqualTo(Shape.of(1000, 2048));
        assertThat(parameters.getLast().shape()).isEqualTo(Shape.of(1000));
    }

    @Test
    void hasThePublishedNumberOfMultiplications() {
        assertThat(parameters.stream().mapToLong(ResNet50::multiplications).sum())
                .isBetween(3_800_000_000L, 3_900_000_000L);
    }

    private Shape shape(String name) {
        return parameters.stream()
                .filter(modelParameter -> modelParameter.name().equals(name))
                .findFirst()
                .orElseThrow()
                .shape();
    }
}

package org.horovod4j.optim;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

import java.lang.foreign.ValueLayout;
import java.util.List;

class GradientArenaTest {
    private static final int ALIGNMENT = 64;

    @Test
    void gradientsOfOneTypeAreAdjacentInReverseOrder() {
        World.run(
                2,
                comm -> {
                    List<GradientArena.Spec> specs =
                            List.of(
                                    new GradientArena.Spec(DataType.FLOAT32, Shape.of(3)),
                                    new GradientArena.Spec(DataType.FLOAT64, Shape.of(2, 2)),
                                    new GradientArena.Spec(DataType.FLOAT32, Shape.of(17)),
                                    new GradientArena.Spec(DataType.FLOAT32, Shape.of(0)));
                    List<Tensor> slices = GradientArena.allocate(comm, Device.HOST, specs);
                    for (int i = 0; i < specs.size(); i++) {
                        assertThat(slices.get(i).dataType()).isEqualTo(specs.get(i).dataType());
                        assertThat(slices.get(i).shape()).isEqualTo(specs.get(i).shape());
                        assertThat(address(slices.get(i)) % ALIGNMENT).isZero();
                    }
                    // 17 floats have 68 bytes
                    assertThat(address(slices.get(0)) - address(slices.get(2)))
                            .isEqualTo(2 * ALIGNMENT);
                });
    }

    @Test
    void slicesDoNotOverlap() {
        World.run(
                1,
                comm -> {
                    GradientArena.Spec spec = new GradientArena.Spec(DataType.FLOAT32, Shape.of(5));
                    List<Tensor> slices =
                            GradientArena.allocate(comm, Device.HOST, List.of(spec, spec, spec));
                    for (int i = 0; i < slices.size(); i++) {
                        slices.get(i).segment().fill((byte) (i + 1));
                    }
                    for (int i = 0; i < slices.size(); i++) {
                        assertThat(slices.get(i).segment().toArray(ValueLayout.JAVA_BYTE))
                                .containsOnly(i + 1);
                    }
                });
    }

    private static long address(Tensor tensor) {
        return tensor.segment().address();
    }
}

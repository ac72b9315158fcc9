package org.horovod4j.benchmarks.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;

import java.util.Collections;

class TensorSizesTest {
    @Test
    void resNetBeginsWithItsFirstConvolutionAndEndsWithTheBiasOfTheClassifier() {
        // 64 filters of 7 x 7 on 3 channels, then their batch normalization; 1000 classes.
        assertThat(TensorSizes.of(Workload.RESNET)).startsWith("37632,256,256,").endsWith(",4000");
        assertThat(TensorSizes.of(Workload.RESNET).split(",")).hasSize(161);
    }

    @Test
    void smallTensorsHaveOneKibibyteEach() {
        assertThat(TensorSizes.of(Workload.TINY))
                .isEqualTo(String.join(",", Collections.nCopies(1000, "1024")));
        assertThat(TensorSizes.of(Workload.ONE)).isEqualTo("4");
    }

    @Test
    void unknownWorkloadIsRejected() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> TensorSizes.main(new String[] {"huge"}))
                .withMessageContaining("HUGE");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> TensorSizes.main(new String[0]))
                .withMessageContaining("WORKLOAD");
    }
}

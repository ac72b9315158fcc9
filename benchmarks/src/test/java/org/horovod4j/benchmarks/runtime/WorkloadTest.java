package org.horovod4j.benchmarks.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class WorkloadTest {
    @ParameterizedTest
    @CsvSource({"RESNET, 102228128", "TINY, 1024000", "ONE, 4"})
    void isFoundByByteSize(Workload workload, long byteSize) {
        assertThat(workload.byteSize()).isEqualTo(byteSize);
        assertThat(Workload.of(byteSize)).isSameAs(workload);
    }

    @ParameterizedTest
    @EnumSource
    void flatTensorHasTheSameByteSize(Workload workload) {
        assertThat(workload.flat())
                .singleElement()
                .satisfies(
                        flat ->
                                assertThat(flat.shape().elementCount() * Float.BYTES)
                                        .isEqualTo(workload.byteSize()));
    }

    @Test
    void unknownByteSizeIsRejected() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Workload.of(5))
                .withMessageContaining("5 bytes");
    }
}

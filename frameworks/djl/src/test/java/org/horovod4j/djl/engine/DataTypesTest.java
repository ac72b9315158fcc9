package org.horovod4j.djl.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import ai.djl.ndarray.types.DataType;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

class DataTypesTest {
    @ParameterizedTest
    @EnumSource(
            mode = Mode.EXCLUDE,
            names = {"UINT32", "UINT64", "COMPLEX64", "STRING", "UNKNOWN"})
    void mapsToTypeOfSameNameAndSize(DataType type) {
        org.horovod4j.DataType same = DataTypes.of(type);

        assertThat(same.toString()).isEqualTo(type == DataType.BOOLEAN ? "bool" : type.toString());
        assertThat(same.byteSize()).isEqualTo(type.getNumOfBytes());
    }

    @ParameterizedTest
    @EnumSource(names = {"UINT32", "UINT64", "COMPLEX64", "STRING", "UNKNOWN"})
    void unsupportedTypesAreRejected(DataType type) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> DataTypes.of(type))
                .withMessageContaining("cannot be exchanged between ranks");
    }
}

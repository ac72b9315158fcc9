package org.horovod4j.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import org.horovod4j.ConfigurationException;
import org.horovod4j.Device;
import org.horovod4j.spi.DeviceProvider;
import org.junit.jupiter.api.Test;

import java.util.ServiceLoader;

class CudaDeviceProviderTest {
    private final DeviceProvider provider =
            ServiceLoader.load(DeviceProvider.class).findFirst().orElseThrow();

    @Test
    void isFoundByServiceLoader() {
        assertThat(provider).isInstanceOf(CudaDeviceProvider.class);
        assertThat(provider.kind()).isEqualTo(Device.Kind.CUDA);
    }

    @Test
    void missingDriverIsNamed() {
        assumeFalse(Cuda.unavailableReason().isEmpty(), "this host has a GPU");
        assertThat(provider.count()).isZero();
        assertThat(provider.describe()).isEqualTo(Cuda.unavailableReason()).isNotBlank();
        assertThatThrownBy(() -> provider.open(0))
                .isInstanceOf(ConfigurationException.class)
                .hasMessage("cuda:0 cannot be used: " + Cuda.unavailableReason());
    }
}

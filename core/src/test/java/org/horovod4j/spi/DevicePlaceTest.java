package org.horovod4j.spi;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.Device;
import org.junit.jupiter.api.Test;

import java.util.List;

class DevicePlaceTest {
    private static DevicePlace place(int rank, String host, String identity) {
        return new DevicePlace(rank, host, host, Device.cuda(0), identity);
    }

    @Test
    void ranksThatShareADeviceAreFound() {
        DevicePlace a0 = place(0, "a", "GPU-1");
        DevicePlace a1 = place(1, "a", "GPU-2");
        DevicePlace a2 = place(2, "a", "GPU-1");
        DevicePlace b3 = place(3, "b", "GPU-1"); // another host
        assertThat(DevicePlace.shared(List.of(a0, a1, a2, b3))).containsExactly(List.of(a0, a2));
        assertThat(DevicePlace.shared(List.of(a0, a1, b3))).isEmpty();
    }
}

package org.horovod4j.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.nccl.CollectivesCheck;
import org.horovod4j.spi.BackendProvider;
import org.horovod4j.spi.DeviceBackend;
import org.horovod4j.spi.DeviceContext;
import org.horovod4j.spi.DevicePlace;
import org.horovod4j.testing.World;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.List;
import java.util.Optional;

/// Ranks that share a simulated GPU, as threads. No GPU is needed.
class CudaIpcBackendTest {
    /// Small, so that tensors of some thousand elements take many rounds.
    private static final long ROUND_BYTES = 4096;

    @ParameterizedTest(name = "{0} ranks")
    @CsvSource({"1", "2", "3"})
    void everyCollectiveHasTheResultOfMainMemory(int size) {
        SimulatedCuda simulated = new SimulatedCuda();
        CudaDevice device = new CudaDevice(simulated, 0);
        World.run(
                size,
                communicator -> {
                    CudaDeviceDriver driver = new CudaDeviceDriver(device);
                    try (CollectivesCheck check =
                            new CollectivesCheck(
                                    communicator,
                                    driver,
                                    new FloatsOnly(),
                                    context -> new CudaIpcBackend(device, context, ROUND_BYTES))) {
                        check.run();
                        check.runLarge(5003);
                        assertThat(check.checked()).isGreaterThan(100);
                    }
                    driver.close();
                });
    }

    /// The kernels of the CPU average integers in a wider type, which the simulation does not do.
    private static final class FloatsOnly implements BackendProvider {
        private final CudaIpcProvider provider = new CudaIpcProvider();

        @Override
        public String name() {
            return provider.name();
        }

        @Override
        public org.horovod4j.Device.Kind kind() {
            return provider.kind();
        }

        @Override
        public int preference() {
            return provider.preference();
        }

        @Override
        public List<Class<? extends DeviceBackend>> capabilities() {
            return provider.capabilities();
        }

        @Override
        public boolean reduces(DataType dataType, ReduceOp op) {
            return op != ReduceOp.AVERAGE || dataType.isFloatingPoint();
        }

        @Override
        public String describe() {
            return provider.describe();
        }

        @Override
        public boolean isAvailable() {
            return true;
        }

        @Override
        public Optional<String> obstacle(List<DevicePlace> places) {
            return provider.obstacle(places);
        }

        @Override
        public DeviceBackend create(DeviceContext context) {
            throw new UnsupportedOperationException("the test creates it");
        }
    }
}

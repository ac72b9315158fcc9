package org.horovod4j.collectives.staged;

import org.horovod4j.Device;
import org.horovod4j.spi.DeviceBackend;
import org.horovod4j.spi.DeviceBackendProvider;
import org.horovod4j.spi.DeviceContext;
import org.horovod4j.spi.DevicePlace;

import java.util.List;
import java.util.Optional;

/// The backend that every device has.
///
/// @param kind the devices it works on
public record StagedBackendProvider(Device.Kind kind) implements DeviceBackendProvider {
    public static final String NAME = "HOST";

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public int preference() {
        return 0;
    }

    @Override
    public Class<? extends DeviceBackend> backendType() {
        return StagedBackend.class;
    }

    @Override
    public String describe() {
        return "copies through main memory";
    }

    @Override
    public boolean isAvailable() {
        return true;
    }

    @Override
    public Optional<String> unsupportedReason(List<DevicePlace> places) {
        return Optional.empty();
    }

    @Override
    public DeviceBackend create(DeviceContext context) {
        return new StagedBackend(context);
    }
}

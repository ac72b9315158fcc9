package org.horovod4j.launcher.check;

import org.horovod4j.ConfigurationException;
import org.horovod4j.spi.DevicePlace;
import org.horovod4j.spi.HostBackend;
import org.horovod4j.spi.HostBackendProvider;
import org.horovod4j.spi.HostContext;

import java.util.List;
import java.util.Optional;

/// A backend for main memory whose library is not on this machine.
public final class MissingBackendProvider implements HostBackendProvider {
    @Override
    public String name() {
        return "MISSING";
    }

    @Override
    public int preference() {
        return -1;
    }

    @Override
    public Class<? extends HostBackend> backendType() {
        return HostBackend.class;
    }

    @Override
    public String describe() {
        return "libmissing.so was not found";
    }

    @Override
    public boolean isAvailable() {
        return false;
    }

    @Override
    public Optional<String> unsupportedReason(List<DevicePlace> places) {
        return Optional.empty();
    }

    @Override
    public HostBackend create(HostContext context) {
        throw new ConfigurationException(describe());
    }
}

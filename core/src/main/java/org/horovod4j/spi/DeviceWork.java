package org.horovod4j.spi;

import org.horovod4j.Communicator;
import org.horovod4j.Device;
import org.horovod4j.DeviceStream;

import java.util.Optional;

/// A communicator on whose devices other packages of ours can launch work.
public interface DeviceWork {
    /// The driver of a device of this rank.
    DeviceDriver driver(Device device);

    /// A stream for such work, which the rank closes.
    DeviceStream workStream(Device device);

    /// Empty for a communicator that a program has implemented.
    static Optional<DeviceWork> of(Communicator communicator) {
        return communicator instanceof DeviceWork work ? Optional.of(work) : Optional.empty();
    }
}

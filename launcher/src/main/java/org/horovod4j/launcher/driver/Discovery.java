package org.horovod4j.launcher.driver;

import org.horovod4j.launcher.plan.Host;

import java.util.List;

/// Finds the hosts of an elastic job. One thread calls it repeatedly.
public interface Discovery {
    /// The hosts that exist now; may be empty.
    ///
    /// @throws DiscoveryException when they cannot be determined
    List<Host> find() throws DiscoveryException, InterruptedException;
}

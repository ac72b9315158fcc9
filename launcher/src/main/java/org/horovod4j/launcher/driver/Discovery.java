package org.horovod4j.launcher.driver;

import org.horovod4j.launcher.plan.Host;

import java.util.List;

/// How the hosts of an elastic job are found. Asked again and again, by one thread.
public interface Discovery {
    /// The hosts there are at this moment; none is an answer too.
    ///
    /// @throws DiscoveryException when nothing can be said about them
    List<Host> find() throws DiscoveryException, InterruptedException;
}

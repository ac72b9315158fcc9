package org.horovod4j.option;

import org.horovod4j.ConfigurationException;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/// Where the ranks meet, and how they know each other.
public sealed interface RendezvousSettings {
    /// At a server whose addresses and secret every process is told.
    ///
    /// @param addresses not yet resolved: that takes time, and the caller's patience. All lead to
    ///     one server, though not from everywhere
    /// @param host who runs the server there
    /// @param secret what proves that a rank belongs to the job
    record Server(List<InetSocketAddress> addresses, RendezvousHost host, SecretText secret)
            implements RendezvousSettings {
        public Server {
            addresses = List.copyOf(addresses);
        }

        /// The port, which all addresses have in common.
        public int port() {
            return addresses.getFirst().getPort();
        }
    }

    /// At a server in rank 0's process, which leaves word of it in a folder that all ranks can
    /// read.
    ///
    /// @param job the name of this job, which no other that meets in the folder has
    record SharedFolder(Path folder, String job) implements RendezvousSettings {}

    /// Reads what there must be in a world of two or more, and may be in a world of one.
    ///
    /// @throws ConfigurationException when a world of two or more has no way to meet
    static Optional<RendezvousSettings> from(
            Environment environment, ProcessIdentity processIdentity) {
        return new RendezvousSettingsReader(environment, processIdentity).read();
    }
}

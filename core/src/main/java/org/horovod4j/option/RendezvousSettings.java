package org.horovod4j.option;

import org.horovod4j.ConfigurationException;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/// How the ranks of a job find and authenticate each other.
public sealed interface RendezvousSettings {
    /// Through a server whose addresses and secret every process knows.
    ///
    /// @param addresses of the one server, unresolved: resolving takes time, so the caller decides
    ///     when. Not all of them can be reached from everywhere
    /// @param host the process that runs the server
    /// @param secret proves that a rank belongs to the job
    record Server(List<InetSocketAddress> addresses, RendezvousHost host, SecretText secret)
            implements RendezvousSettings {
        public Server {
            addresses = List.copyOf(addresses);
        }

        /// The ports at which the server may be, in the order in which it tries to listen there.
        public List<Integer> ports() {
            return addresses.stream().map(InetSocketAddress::getPort).distinct().toList();
        }
    }

    /// Through a server in the process of rank 0, which publishes its address in a folder that all
    /// ranks can read.
    ///
    /// @param job the name of this job, unique in the folder
    record SharedFolder(Path folder, String job) implements RendezvousSettings {}

    /// The secret of a job as it was given. Not printed with the settings.
    record SecretText(String text) {
        @Override
        public String toString() {
            return "(secret)";
        }
    }

    /// Reads the settings. Required with two or more ranks, optional for one.
    ///
    /// @throws ConfigurationException when there are several ranks and no way to find each other
    static Optional<RendezvousSettings> from(
            Environment environment, ProcessIdentity processIdentity) {
        return new RendezvousSettingsReader(environment, processIdentity).read();
    }
}

package org.horovod4j.option;

import org.horovod4j.ConfigurationException;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// Works out where the ranks meet.
///
/// | what is set                         | the ranks meet                                      |
/// |-------------------------------------|-----------------------------------------------------|
/// | address, port and secret            | there                                               |
/// | `auto` as the address, and a secret | on the first host of the step, which Slurm names    |
/// | neither address nor port            | by a file in a shared folder, named after the job   |
record RendezvousSettingsReader(Environment environment, ProcessIdentity processIdentity) {
    private static final List<Option<?>> NEEDED =
            List.of(Options.RENDEZVOUS_ADDR, Options.RENDEZVOUS_PORT, Options.SECRET_KEY);
    private static final List<Option<?>> BY_HAND =
            Stream.concat(Stream.of(Options.RANK, Options.SIZE), NEEDED.stream()).toList();

    private static final String AUTOMATIC = "auto";

    /// Below the ports that Linux hands out by itself, and above those of most services.
    private static final int FIRST_PORT = 20_000;

    private static final int PORTS = 10_000;

    Optional<RendezvousSettings> read() {
        boolean automatic =
                environment
                        .find(Options.RENDEZVOUS_ADDR)
                        .filter(AUTOMATIC::equalsIgnoreCase)
                        .isPresent();
        boolean alone = processIdentity.world().size() == 1;
        if (automatic) {
            return alone ? Optional.empty() : Optional.of(onFirstHost());
        }
        List<Option<?>> missing =
                NEEDED.stream().filter(option -> !environment.isSet(option)).toList();
        if (missing.isEmpty()) {
            return Optional.of(
                    at(
                            addresses(environment.get(Options.RENDEZVOUS_ADDR)),
                            environment.get(Options.RENDEZVOUS_PORT)));
        }
        if (alone) {
            return Optional.empty();
        }
        boolean nowhere =
                missing.contains(Options.RENDEZVOUS_ADDR)
                        && missing.contains(Options.RENDEZVOUS_PORT);
        String job = processIdentity.job();
        if (nowhere && job != null) {
            return Optional.of(new RendezvousSettings.SharedFolder(folder(), job));
        }
        throw incomplete(missing);
    }

    private RendezvousSettings at(List<String> hosts, int port) {
        return new RendezvousSettings.Server(
                hosts.stream().map(host -> InetSocketAddress.createUnresolved(host, port)).toList(),
                environment.get(Options.RENDEZVOUS_SERVER),
                new SecretText(environment.get(Options.SECRET_KEY)));
    }

    private List<String> addresses(String text) {
        List<String> hosts =
                Stream.of(text.split(",", -1))
                        .map(String::strip)
                        .map(RendezvousSettingsReader::withoutBrackets)
                        .toList();
        if (hosts.contains("")) {
            throw new ConfigurationException(
                    "%s is '%s', in which an address is empty. Write names or addresses with a"
                                    .formatted(Options.RENDEZVOUS_ADDR, text)
                            + " comma between each two.");
        }
        return hosts;
    }

    /// IPv6 addresses are often written `[::1]`, which sockets do not take.
    private static String withoutBrackets(String address) {
        return address.startsWith("[") && address.endsWith("]")
                ? address.substring(1, address.length() - 1)
                : address;
    }

    /// A secret made from a number that everybody can look up would be none, so it must be given.
    private RendezvousSettings onFirstHost() {
        String host = processIdentity.firstHost();
        String job = processIdentity.job();
        if (host == null || job == null) {
            throw new ConfigurationException(
                    """
                    %s is '%s', but nothing names the host of %s's rank 0: that works inside a step of srun
                    Name the host, or unset %s to meet by a file in %s."""
                            .formatted(
                                    Options.RENDEZVOUS_ADDR,
                                    AUTOMATIC,
                                    processIdentity,
                                    Options.RENDEZVOUS_ADDR,
                                    Options.RENDEZVOUS_FOLDER));
        }
        if (!environment.isSet(Options.SECRET_KEY)) {
            throw new ConfigurationException(
                    "%s is '%s', which needs a secret too. Set %s, the same for all processes."
                            .formatted(Options.RENDEZVOUS_ADDR, AUTOMATIC, Options.SECRET_KEY));
        }
        int port =
                environment
                        .find(Options.RENDEZVOUS_PORT)
                        .orElseGet(() -> FIRST_PORT + Math.floorMod(job.hashCode(), PORTS));
        return at(List.of(host), port);
    }

    private Path folder() {
        return environment
                .find(Options.RENDEZVOUS_FOLDER)
                .orElseGet(() -> Path.of(System.getProperty("user.home"), ".horovod"));
    }

    private ConfigurationException incomplete(List<Option<?>> missing) {
        return new ConfigurationException(
                """
                %s cannot find the others: not set are %s
                Start the program with horovodrun, or set for every process by hand:
                %s
                Where all hosts share a folder, %s is enough: %s"""
                        .formatted(
                                processIdentity,
                                missing.stream()
                                        .map(Option::variable)
                                        .collect(Collectors.joining(", ")),
                                BY_HAND.stream()
                                        .map(option -> "  " + option + ": " + option.help())
                                        .collect(Collectors.joining("\n")),
                                Options.JOB_ID,
                                Options.JOB_ID.help()));
    }
}

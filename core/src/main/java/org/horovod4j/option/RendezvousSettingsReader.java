package org.horovod4j.option;

import org.horovod4j.ConfigurationException;
import org.horovod4j.file.SecretFile;
import org.horovod4j.option.RendezvousSettings.SecretText;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/// Determines how the ranks find each other.
///
/// | what is set                         | rendezvous                                             |
/// |-------------------------------------|--------------------------------------------------------|
/// | address, port and secret            | a server at that address                               |
/// | `auto` as the address, and a secret | a server on the first host of the Slurm step           |
/// | neither address nor port            | a file in a shared folder, named after the job         |
record RendezvousSettingsReader(Environment environment, ProcessIdentity processIdentity) {
    private static final List<Option<?>> REQUIRED =
            List.of(Options.RENDEZVOUS_ADDR, Options.RENDEZVOUS_PORT, Options.SECRET_KEY);
    private static final List<Option<?>> BY_HAND =
            Stream.concat(Stream.of(Options.RANK, Options.SIZE), REQUIRED.stream()).toList();

    private static final String AUTOMATIC = "auto";

    /// Below the ports that Linux assigns automatically, and above those of most services.
    private static final int FIRST_PORT = 20_000;

    private static final int PORTS = 10_000;

    /// How many of them a job tries.
    private static final int DERIVED_PORTS = 4;

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
                REQUIRED.stream().filter(option -> !isGiven(option, environment)).toList();
        if (missing.isEmpty()) {
            return Optional.of(
                    at(
                            addresses(environment.get(Options.RENDEZVOUS_ADDR)),
                            List.of(environment.get(Options.RENDEZVOUS_PORT))));
        }
        if (alone) {
            return Optional.empty();
        }
        boolean noServer =
                missing.contains(Options.RENDEZVOUS_ADDR)
                        && missing.contains(Options.RENDEZVOUS_PORT);
        String job = processIdentity.job();
        if (noServer && job != null) {
            return Optional.of(new RendezvousSettings.SharedFolder(folder(), job));
        }
        throw incomplete(missing);
    }

    private RendezvousSettings at(List<String> hosts, List<Integer> ports) {
        return new RendezvousSettings.Server(
                ports.stream()
                        .flatMap(
                                port ->
                                        hosts.stream()
                                                .map(
                                                        host ->
                                                                InetSocketAddress.createUnresolved(
                                                                        host, port)))
                        .toList(),
                environment.get(Options.RENDEZVOUS_SERVER),
                secret());
    }

    /// The variable comes first: a job that a rank starts may inherit the name of a file that the
    /// rank has removed.
    private SecretText secret() {
        return new SecretText(
                environment
                        .find(Options.SECRET_KEY)
                        .orElseGet(() -> SecretFile.take(environment.get(Options.SECRET_FILE))));
    }

    /// Whether an option is set. The secret may also be in a file.
    static boolean isGiven(Option<?> option, Environment environment) {
        return environment.isSet(option)
                || (option.equals(Options.SECRET_KEY) && environment.isSet(Options.SECRET_FILE));
    }

    private List<String> addresses(String text) {
        List<String> hosts =
                Stream.of(text.split(",", -1))
                        .map(String::strip)
                        .map(RendezvousSettingsReader::withoutBrackets)
                        .toList();
        if (hosts.contains("")) {
            throw new ConfigurationException(
                    "%s is '%s', which contains an empty address. Separate names or addresses"
                                    .formatted(Options.RENDEZVOUS_ADDR, text)
                            + " by single commas.");
        }
        return hosts;
    }

    /// IPv6 addresses are often written `[::1]`, which sockets do not accept.
    private static String withoutBrackets(String address) {
        return address.startsWith("[") && address.endsWith("]")
                ? address.substring(1, address.length() - 1)
                : address;
    }

    /// The secret must be set: one derived from the public job number would not be secret.
    private RendezvousSettings onFirstHost() {
        String host = processIdentity.firstHost();
        String job = processIdentity.job();
        if (host == null || job == null) {
            throw new ConfigurationException(
                    """
                    %s is '%s', but the host of rank 0 is not known to %s: that works only inside a step of srun
                    Set the host, or unset %s to use a file in %s."""
                            .formatted(
                                    Options.RENDEZVOUS_ADDR,
                                    AUTOMATIC,
                                    processIdentity,
                                    Options.RENDEZVOUS_ADDR,
                                    Options.RENDEZVOUS_FOLDER));
        }
        if (!isGiven(Options.SECRET_KEY, environment)) {
            throw new ConfigurationException(
                    "%s is '%s', which needs a secret too. Set %s, the same for all processes."
                            .formatted(Options.RENDEZVOUS_ADDR, AUTOMATIC, Options.SECRET_KEY));
        }
        List<Integer> ports =
                environment
                        .find(Options.RENDEZVOUS_PORT)
                        .map(List::of)
                        .orElseGet(() -> derivedPorts(job));
        return at(List.of(host), ports);
    }

    /// Several, because any user of the host may occupy a port.
    private static List<Integer> derivedPorts(String job) {
        int first = Math.floorMod(job.hashCode(), PORTS);
        return IntStream.range(0, DERIVED_PORTS)
                .mapToObj(i -> FIRST_PORT + (first + i) % PORTS)
                .toList();
    }

    private Path folder() {
        return environment
                .find(Options.RENDEZVOUS_FOLDER)
                .orElseGet(() -> Path.of(System.getProperty("user.home"), ".horovod"));
    }

    private ConfigurationException incomplete(List<Option<?>> missing) {
        return new ConfigurationException(
                """
                %s cannot find the other ranks: these are not set: %s
                Start the program with horovodrun, or set for every process by hand:
                %s
                If all hosts share a folder, %s is enough: %s"""
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

package org.horovod4j.option;

import org.horovod4j.ConfigurationException;

import java.net.InetSocketAddress;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// Where the ranks meet, and how they know each other.
///
/// @param address not yet resolved: that takes time, and the caller's patience
/// @param host who runs the server there
/// @param secret what proves that a rank belongs to the job
public record Rendezvous(InetSocketAddress address, RendezvousHost host, SecretText secret) {
    private static final List<Option<?>> NEEDED =
            List.of(Options.RENDEZVOUS_ADDR, Options.RENDEZVOUS_PORT, Options.SECRET_KEY);
    private static final List<Option<?>> BY_HAND =
            Stream.concat(Stream.of(Options.RANK, Options.SIZE), NEEDED.stream()).toList();

    /// Reads what there must be in a world of two or more, and may be in a world of one.
    static Optional<Rendezvous> from(Environment environment, Place world) {
        List<Option<?>> missing =
                NEEDED.stream().filter(option -> !environment.isSet(option)).toList();
        if (missing.isEmpty()) {
            return Optional.of(
                    new Rendezvous(
                            InetSocketAddress.createUnresolved(
                                    withoutBrackets(environment.get(Options.RENDEZVOUS_ADDR)),
                                    environment.get(Options.RENDEZVOUS_PORT)),
                            environment.get(Options.RENDEZVOUS_SERVER),
                            new SecretText(environment.get(Options.SECRET_KEY))));
        }
        if (world.size() == 1) {
            return Optional.empty();
        }
        throw new ConfigurationException(
                """
                rank %d of %d cannot find the others: not set are %s
                Start the program with horovodrun, or set for every process by hand:
                %s"""
                        .formatted(
                                world.rank(),
                                world.size(),
                                missing.stream()
                                        .map(Option::variable)
                                        .collect(Collectors.joining(", ")),
                                BY_HAND.stream()
                                        .map(option -> "  " + option + ": " + option.help())
                                        .collect(Collectors.joining("\n"))));
    }

    /// IPv6 addresses are often written `[::1]`, which sockets do not take.
    private static String withoutBrackets(String address) {
        return address.startsWith("[") && address.endsWith("]")
                ? address.substring(1, address.length() - 1)
                : address;
    }
}

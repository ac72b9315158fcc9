package org.horovod4j.option;

import org.horovod4j.ConfigurationException;

import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/// A process of an elastic job, to which the launcher assigns a rank.
///
/// @param number among all processes that the job has started
/// @param port of the worker registry, at the rendezvous address
public record ElasticWorker(int number, int port) {
    private static final List<Option<?>> REQUIRED =
            List.of(
                    ElasticOptions.WORKER,
                    ElasticOptions.PORT,
                    Options.HOSTNAME,
                    Options.RENDEZVOUS_ADDR,
                    Options.RENDEZVOUS_PORT,
                    Options.SECRET_KEY);

    /// Reads whether this process is one.
    ///
    /// @throws ConfigurationException when it is, but the launcher's variables are incomplete
    static Optional<ElasticWorker> from(Environment environment) {
        if (!environment.get(ElasticOptions.ELASTIC)) {
            return Optional.empty();
        }
        String missing =
                REQUIRED.stream()
                        .filter(option -> !RendezvousSettingsReader.isGiven(option, environment))
                        .map(Option::variable)
                        .collect(Collectors.joining(", "));
        if (!missing.isEmpty()) {
            throw incomplete("these are not set: " + missing);
        }
        if (environment.get(Options.RENDEZVOUS_SERVER) != RendezvousHost.LAUNCHER) {
            throw incomplete(
                    "%s is not '%s'"
                            .formatted(
                                    Options.RENDEZVOUS_SERVER,
                                    Options.RENDEZVOUS_SERVER.format(RendezvousHost.LAUNCHER)));
        }
        return Optional.of(
                new ElasticWorker(
                        environment.get(ElasticOptions.WORKER),
                        environment.get(ElasticOptions.PORT)));
    }

    private static ConfigurationException incomplete(String found) {
        return new ConfigurationException(
                """
                %s is set, but %s
                Let horovodrun start the workers of an elastic job, or unset %1$s."""
                        .formatted(ElasticOptions.ELASTIC, found));
    }

    @Override
    public String toString() {
        return "elastic worker " + number;
    }
}

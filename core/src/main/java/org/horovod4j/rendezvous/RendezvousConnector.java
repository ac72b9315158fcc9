package org.horovod4j.rendezvous;

import org.horovod4j.ConfigurationException;
import org.horovod4j.log.Log;
import org.horovod4j.security.Handshake;
import org.horovod4j.security.Handshake.Purpose;
import org.horovod4j.security.HandshakeException;
import org.horovod4j.security.MultiAddressConnector;
import org.horovod4j.security.Secret;
import org.horovod4j.security.SecureConnection;
import org.horovod4j.security.SocketSettings;
import org.horovod4j.security.UnreachableException;
import org.horovod4j.text.DurationFormat;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;

/// Connects a rank to the rendezvous server, which may start later than the rank.
final class RendezvousConnector {
    private static final Logger LOGGER = Log.of(RendezvousConnector.class);

    /// Not shortened near the start timeout: a shorter attempt would prove nothing.
    private static final Duration ATTEMPT_TIMEOUT = Duration.ofSeconds(2);

    /// Added for each further address: attempts start a quarter second apart.
    private static final Duration TIMEOUT_PER_ADDRESS = Duration.ofMillis(250);

    private static final long MIN_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final long MAX_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private final MultiAddressConnector connector;
    private final List<InetSocketAddress> servers;
    private final Duration startTimeout;

    RendezvousConnector(
            Secret secret,
            List<InetSocketAddress> servers,
            Duration heartbeatTimeout,
            Duration startTimeout) {
        Handshake handshake = new Handshake(secret, Purpose.RENDEZVOUS);
        this.connector =
                new MultiAddressConnector(SocketSettings.of(heartbeatTimeout), handshake::initiate);
        this.servers = List.copyOf(servers);
        this.startTimeout = startTimeout;
    }

    /// Connects and authenticates. Retries until the start timeout.
    ///
    /// @throws ConfigurationException when no server is reached in time, or the server belongs to
    ///     another job
    SecureConnection connect(int rank) {
        long deadline = System.nanoTime() + startTimeout.toNanos();
        long pause = MIN_PAUSE_NANOS;
        for (int number = 0; ; number++) {
            try {
                return attempt(number);
            } catch (UnreachableException e) {
                if (isFinal(e) || System.nanoTime() - deadline >= 0) {
                    throw unreachable(rank, e);
                }
            }
            pauseNanos(pause);
            pause = Math.min(2 * pause, MAX_PAUSE_NANOS);
        }
    }

    /// Waits even when the thread is interrupted, and keeps the interrupt. Otherwise the caller would
    /// retry without a pause.
    static void pauseNanos(long nanos) {
        boolean interrupted = Thread.interrupted();
        LockSupport.parkNanos(nanos);
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /// Tries all addresses once, and closes the connection to the server that answers.
    ///
    /// @throws UnreachableException when none answers
    void probe() throws UnreachableException {
        try {
            attempt(0).close();
        } catch (UnreachableException e) {
            throw e;
        } catch (IOException e) {
            LOGGER.log(Level.DEBUG, "Closing the connection to " + this + " failed", e);
        }
    }

    /// Each attempt starts with another address: one that accepts connections and stays silent may
    /// use up the time of an attempt.
    private SecureConnection attempt(int number) throws UnreachableException {
        Duration limit = ATTEMPT_TIMEOUT.plus(TIMEOUT_PER_ADDRESS.multipliedBy(servers.size()));
        List<InetSocketAddress> candidates = new ArrayList<>(servers);
        Collections.rotate(candidates, -number);
        return connector.connect(candidates, limit, () -> {});
    }

    /// The host to name when the server is lost.
    String host() {
        return servers.isEmpty() ? "unknown host" : servers.getFirst().getHostString();
    }

    @Override
    public String toString() {
        return servers.stream()
                .map(server -> server.getHostString() + ":" + server.getPort())
                .collect(Collectors.joining(" or "));
    }

    /// Whether a retry cannot succeed. All attempts must agree: one of several addresses may lead
    /// to another service, such as a container network that every host has, while the server has
    /// not started yet.
    private static boolean isFinal(UnreachableException e) {
        return !e.attempts().isEmpty()
                && e.attempts().stream().allMatch(RendezvousConnector::isFinal);
    }

    private static boolean isFinal(UnreachableException.Attempt attempt) {
        return attempt.failure() instanceof HandshakeException refused
                && refused.reason().isFinal();
    }

    private ConfigurationException unreachable(int rank, UnreachableException e) {
        String remedy =
                e.attempts().stream().anyMatch(RendezvousConnector::isFinal)
                        ? "Give every rank the address, the secret and the encryption of its own job."
                        : "Check that the launcher runs, and that its port is open to this host.";
        return new ConfigurationException(
                """
                joining the job as rank %d: no rendezvous server was reached in %s
                %s
                %s"""
                        .formatted(
                                rank, DurationFormat.seconds(startTimeout), e.getMessage(), remedy),
                e);
    }
}

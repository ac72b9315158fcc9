package org.horovod4j.launcher;

import org.horovod4j.option.Environment;
import org.horovod4j.option.Options;
import org.horovod4j.rendezvous.RendezvousServer;
import org.horovod4j.trust.Secret;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;

/// What a job has before anything is known of its program and ranks.
///
/// @param id marks the processes of this job and all they start
/// @param secret proves that a process belongs to it
/// @param networkInterfaces where its ranks may meet; none for everywhere
record JobSettings(
        String id,
        Secret secret,
        Duration heartbeatTimeout,
        Duration startTimeout,
        Set<String> networkInterfaces) {
    private static final String NETWORK_INTERFACES = "HOROVOD_NETWORK_INTERFACES";

    JobSettings {
        networkInterfaces = Set.copyOf(networkInterfaces);
    }

    /// A new job, with what the environment sets.
    static JobSettings of(Map<String, String> environment) {
        Environment options = new Environment(environment);
        return new JobSettings(
                UUID.randomUUID().toString(),
                Secret.random(),
                options.get(Options.HEARTBEAT_TIMEOUT),
                options.get(Options.START_TIMEOUT),
                names(environment.getOrDefault(NETWORK_INTERFACES, "")));
    }

    /// The same job with what flags set.
    JobSettings with(Map<String, String> flags) {
        Environment options = new Environment(flags);
        return new JobSettings(
                id,
                secret,
                options.find(Options.HEARTBEAT_TIMEOUT).orElse(heartbeatTimeout),
                options.find(Options.START_TIMEOUT).orElse(startTimeout),
                flags.containsKey(NETWORK_INTERFACES)
                        ? names(flags.getOrDefault(NETWORK_INTERFACES, ""))
                        : networkInterfaces);
    }

    private static Set<String> names(String text) {
        return Arrays.stream(text.split(","))
                .map(String::strip)
                .filter(name -> !name.isEmpty())
                .collect(Collectors.toSet());
    }

    /// What the environment of each of its processes contains.
    String mark() {
        return Options.JOB_ID.variable() + "=" + id;
    }

    /// Opens the place where its ranks meet. Nobody else can reach it if all of them run on this
    /// machine.
    RendezvousServer openRendezvous(int size, boolean anyRemote) {
        InetSocketAddress anyPort =
                anyRemote
                        ? new InetSocketAddress(0)
                        : new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        return RendezvousServer.start(secret, size, anyPort, heartbeatTimeout, startTimeout);
    }
}

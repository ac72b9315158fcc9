package org.horovod4j.rendezvous;

import org.horovod4j.ConfigurationException;
import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.security.Protection;
import org.horovod4j.security.Secret;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/// How to reach a job's rendezvous server, as rank 0 publishes it.
///
/// As text it has one line for each part, a key and a value:
///
/// ```
/// horovod4j-rendezvous 1
/// writer process 4711 on node1, 2026-11-15T12:00:00Z
/// address 10.0.0.1 29500
/// address fd00::1 29500
/// secret …
/// ```
///
/// @param writer who wrote it and when, for people who find the file
/// @param servers the addresses of the server, as numbers: no name has to be resolved
/// @param secret of this job alone
public record RendezvousServerInfo(String writer, List<InetSocketAddress> servers, Secret secret) {
    private static final String MAGIC = "horovod4j-rendezvous 1";
    private static final String WRITER = "writer";
    private static final String ADDRESS = "address";
    private static final String SECRET = "secret";

    public RendezvousServerInfo {
        servers = List.copyOf(servers);
    }

    String encode() {
        StringBuilder text = new StringBuilder(MAGIC).append('\n');
        text.append(WRITER).append(' ').append(writer).append('\n');
        for (InetSocketAddress server : servers) {
            text.append("%s %s %d\n".formatted(ADDRESS, host(server), server.getPort()));
        }
        return text.append(SECRET).append(' ').append(secret.encode()).append('\n').toString();
    }

    /// @throws MalformedMessageException when [#encode] did not write the text
    static RendezvousServerInfo decode(String text) throws MalformedMessageException {
        List<String> lines = text.lines().toList();
        if (lines.isEmpty() || !lines.getFirst().equals(MAGIC)) {
            throw new MalformedMessageException("it does not begin with '" + MAGIC + "'");
        }
        String writer = "";
        String secret = "";
        List<InetSocketAddress> servers = new ArrayList<>();
        for (String line : lines.subList(1, lines.size())) {
            String[] words = line.split(" ", 2);
            String value = words.length == 2 ? words[1] : "";
            switch (words[0]) {
                case WRITER -> writer = value;
                case ADDRESS -> servers.add(address(value));
                case SECRET -> secret = value;
                default ->
                        throw new MalformedMessageException(
                                "it has an unknown line '" + words[0] + "'");
            }
        }
        if (servers.isEmpty()) {
            throw new MalformedMessageException("it contains no address");
        }
        try {
            return new RendezvousServerInfo(writer, servers, Secret.decode(secret));
        } catch (ConfigurationException e) {
            throw new MalformedMessageException("its secret is not valid");
        }
    }

    /// The same with a protection, which the file does not contain.
    RendezvousServerInfo withProtection(Protection protection) {
        return new RendezvousServerInfo(writer, servers, secret.withProtection(protection));
    }

    private static InetSocketAddress address(String value) throws MalformedMessageException {
        String[] words = value.split(" ", -1);
        if (words.length != 2
                || !words[1].matches("\\d{1,5}")
                || Integer.parseInt(words[1]) > 65_535) {
            throw new MalformedMessageException("its address '" + value + "' is not valid");
        }
        return InetSocketAddress.createUnresolved(words[0], Integer.parseInt(words[1]));
    }

    private static String host(InetSocketAddress server) {
        return server.isUnresolved()
                ? server.getHostString()
                : server.getAddress().getHostAddress();
    }

    /// Without the secret.
    @Override
    public String toString() {
        return servers.stream()
                        .map(server -> host(server) + " port " + server.getPort())
                        .collect(Collectors.joining(" or "))
                + ", written by "
                + writer;
    }
}

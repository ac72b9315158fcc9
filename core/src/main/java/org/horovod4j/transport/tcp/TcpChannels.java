package org.horovod4j.transport.tcp;

import org.horovod4j.ConfigurationException;
import org.horovod4j.log.Log;
import org.horovod4j.network.LocalAddresses;
import org.horovod4j.spi.Member;
import org.horovod4j.transport.Channels;
import org.horovod4j.transport.Links;
import org.horovod4j.transport.Liveness;
import org.horovod4j.trust.Gate;
import org.horovod4j.trust.Handshake;
import org.horovod4j.trust.Handshake.Purpose;
import org.horovod4j.trust.PromptReader;
import org.horovod4j.trust.RefusalLog;
import org.horovod4j.trust.Secret;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/// The channels of one rank over TCP: one listener for all of them, and connections that are each
/// channel's own.
///
/// Of two ranks the higher one dials. The lower one answers at any time, on a thread of its own,
/// whether it has asked for the link or not; so a dialler never waits for another rank's program,
/// only lower ranks wait for higher ones, and no circle of ranks can wait for each other.
public final class TcpChannels implements Channels {
    private static final Logger LOGGER = Log.of(TcpChannels.class);

    private final Calls calls;
    private final Gate gate;
    private final LocalAddresses addresses;
    private final Operator operator;
    private final Map<Integer, TcpLinks> channels = new ConcurrentHashMap<>();

    private TcpChannels(
            Secret secret, int rank, LocalAddresses addresses, Duration timeout, TcpTuning tuning) {
        Handshake handshake = new Handshake(secret, Purpose.LINK);
        this.addresses = addresses;
        this.calls = new Calls(rank);
        this.operator =
                new Operator(
                        rank,
                        new Caller(handshake, tuning.sockets(), timeout),
                        calls,
                        timeout,
                        tuning);
        this.gate =
                Gate.open(
                        new InetSocketAddress(0),
                        handshake,
                        tuning.sockets(),
                        new RefusalLog(LOGGER),
                        this::answer);
    }

    /// Like the other, and tells all addresses of this host.
    public static TcpChannels listen(Secret secret, int rank, Duration timeout, TcpTuning tuning) {
        return listen(secret, rank, LocalAddresses.all(), timeout, tuning);
    }

    /// Listens on a free port, for IPv4 and IPv6.
    ///
    /// @param addresses those of this host's that other ranks are to know
    /// @param timeout how long a dialled rank may take to answer
    /// @throws ConfigurationException when it cannot listen
    public static TcpChannels listen(
            Secret secret, int rank, LocalAddresses addresses, Duration timeout, TcpTuning tuning) {
        return new TcpChannels(secret, rank, addresses, timeout, tuning);
    }

    /// Where this rank might be reached, likeliest first: for its [Member] card.
    public List<InetSocketAddress> addresses() {
        return addresses.at(gate.address().getPort());
    }

    /// Introduces the ranks that links may be asked for.
    ///
    /// @param world tells this meeting from others of the same processes
    public void meet(List<Member> members, long world) {
        operator.meet(new Peers(members, world));
        calls.meet(world);
    }

    @Override
    public synchronized Links open(int id, Liveness liveness) {
        calls.open(id);
        TcpLinks links = new TcpLinks(id, operator, liveness, () -> close(id));
        channels.put(id, links);
        return links;
    }

    private void close(int id) {
        calls.close(id);
        channels.remove(id);
    }

    @Override
    public void close() {
        gate.close();
        List<TcpLinks> last;
        synchronized (this) {
            calls.close(); // so that no channel opens any more
            last = List.copyOf(channels.values());
        }
        last.forEach(TcpLinks::close);
    }

    /// Answers a caller that has passed the handshake.
    private void answer(SocketChannel stream) {
        PromptReader in = new PromptReader(stream.socket(), Handshake.DEADLINE);
        boolean kept = false;
        try {
            Hello hello = Hello.decode(in.read(Hello.BYTE_SIZE));
            Verdict verdict = calls.judge(hello);
            stream.socket().getOutputStream().write(verdict.code());
            if (verdict == Verdict.WELCOME && in.read(1)[0] == Hello.TAKEN) {
                stream.configureBlocking(false);
                kept = calls.keep(hello, stream);
            }
        } catch (IOException e) {
            // Usual: the caller has reached us by another address too, and needs but one.
            LOGGER.log(Level.DEBUG, "A caller went away", e);
        } finally {
            if (!kept) {
                TcpLink.closeQuietly(stream);
            }
        }
    }
}

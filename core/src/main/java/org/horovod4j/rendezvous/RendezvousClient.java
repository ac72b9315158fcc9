package org.horovod4j.rendezvous;

import org.horovod4j.ConfigurationException;
import org.horovod4j.HorovodException;
import org.horovod4j.ShutDownException;
import org.horovod4j.connection.Connection;
import org.horovod4j.connection.Connection.CloseReason;
import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.security.Secret;
import org.horovod4j.security.SecureConnection;
import org.horovod4j.spi.ControlPlane;
import org.horovod4j.spi.RankDeparture;
import org.horovod4j.spi.RankInfo;
import org.horovod4j.text.DurationFormat;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;

/// A rank's connection to the [RendezvousServer].
public final class RendezvousClient implements ControlPlane {
    /// In place of a rank: the server runs in the launcher.
    public static final int LAUNCHER = -1;

    /// How long a leave may take to reach the server.
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

    /// Characters of a reason that are sent: more is not worth reading, and might not fit a
    /// message.
    private static final int MAX_REASON = 10_000;

    private final RendezvousConnector connector;
    private final int serverRank;
    private final int rank;
    private final int size;
    private final int generation;
    private final Duration heartbeatTimeout;
    private final Duration startTimeout;
    private final CompletableFuture<List<RankInfo>> joined = new CompletableFuture<>();
    private final Map<String, CompletableFuture<List<byte[]>>> allgathers =
            new ConcurrentHashMap<>();
    private final ReentrantLock surveyLock = new ReentrantLock();
    private volatile @Nullable Survey survey;
    private int surveyCount;
    private volatile @Nullable Connection<RendezvousMessage> connection;
    private volatile @Nullable Listener listener;
    private volatile RendezvousMessage.@Nullable Lost firstLoss;
    private final AtomicBoolean left = new AtomicBoolean();
    private volatile boolean stopped;
    private volatile boolean ended;

    /// For a server in the launcher; see the other constructor.
    public RendezvousClient(
            Secret secret,
            List<InetSocketAddress> servers,
            int rank,
            int size,
            int generation,
            Duration heartbeatTimeout,
            Duration startTimeout) {
        this(secret, servers, LAUNCHER, rank, size, generation, heartbeatTimeout, startTimeout);
    }

    /// @param servers where the server may be; names are resolved, all addresses tried
    /// @param serverRank the rank whose process runs the server, or [#LAUNCHER]; when the server is
    ///     lost, that rank is lost
    /// @param generation how often this process has joined before
    /// @param heartbeatTimeout how long the server may be silent before it is declared lost
    /// @param startTimeout how long to look for the server and to wait for the other ranks
    public RendezvousClient(
            Secret secret,
            List<InetSocketAddress> servers,
            int serverRank,
            int rank,
            int size,
            int generation,
            Duration heartbeatTimeout,
            Duration startTimeout) {
        this.connector = new RendezvousConnector(secret, servers, heartbeatTimeout, startTimeout);
        this.serverRank = serverRank;
        this.rank = rank;
        this.size = size;
        this.generation = generation;
        this.heartbeatTimeout = heartbeatTimeout;
        this.startTimeout = startTimeout;
    }

    @Override
    public List<RankInfo> join(RankInfo self, Listener listener) {
        if (self.rank() != rank || this.listener != null) {
            throw new IllegalStateException(
                    "rank " + rank + " may join once, with its own RankInfo");
        }
        this.listener = listener;
        Connection<RendezvousMessage> opened = open(connector.connect(rank));
        connection = opened;
        opened.start("hvd-rendezvous-" + rank, new ServerMessageReceiver());
        opened.send(new RendezvousMessage.Join(generation, size, self));
        // The server limits the wait to the start timeout. The margin is for a server that hangs.
        Duration limit = startTimeout.plus(heartbeatTimeout);
        try {
            return outcome(joined.copy().orTimeout(limit.toMillis(), TimeUnit.MILLISECONDS));
        } catch (HorovodException e) {
            close();
            throw e;
        }
    }

    @Override
    public List<byte[]> allgather(String topic, byte[] mine) {
        Connection<RendezvousMessage> open = joinedConnection("allgather of '" + topic + "'");
        RendezvousMessage.Allgather allgather =
                new RendezvousMessage.Allgather(topic, mine.clone());
        if (RendezvousMessageCodec.INSTANCE.encode(allgather).length
                > RendezvousMessageCodec.MAX_CLIENT_BYTES) {
            throw new IllegalArgumentException(
                    "allgather of '%s': %d bytes are too many, topic and contribution may have %d"
                            .formatted(
                                    topic, mine.length, RendezvousMessageCodec.MAX_CLIENT_BYTES));
        }
        CompletableFuture<List<byte[]>> contributions = new CompletableFuture<>();
        if (allgathers.putIfAbsent(topic, contributions) != null) {
            throw new IllegalStateException("allgather of '" + topic + "' is already in progress");
        }
        open.send(allgather);
        // Checked after the allgather was registered: a loss that came earlier did not see it.
        RendezvousMessage.Lost lost = firstLoss;
        if (lost != null) {
            contributions.completeExceptionally(
                    PeerLoss.toException("allgather of '" + topic + "'", lost));
        }
        if (stopped) {
            stop();
        }
        try {
            return outcome(contributions);
        } finally {
            allgathers.remove(topic, contributions);
        }
    }

    /// Concurrent surveys run one after the other: the server keeps one for each rank.
    @Override
    public List<byte @Nullable []> survey() {
        surveyLock.lock();
        try {
            Connection<RendezvousMessage> open = joinedConnection("survey");
            Survey mine = new Survey(++surveyCount);
            survey = mine;
            open.send(new RendezvousMessage.SurveyRequest(mine.id()));
            if (ended) { // checked after the survey was registered: an earlier end did not see it
                mine.complete();
            }
            return mine.await(size);
        } finally {
            survey = null;
            surveyLock.unlock();
        }
    }

    @Override
    public void reportBlocked(RankDeparture departure) {
        Connection<RendezvousMessage> open = connection;
        if (!left.get() && open != null && departure.rank() >= 0) {
            open.send(
                    new RendezvousMessage.Blocked(departure.rank(), shortened(departure.reason())));
        }
    }

    @Override
    public void leave(Map<Integer, Long> completed, boolean orderly, String reason) {
        Connection<RendezvousMessage> open = connection;
        if (open != null && left.compareAndSet(false, true)) {
            open.send(new RendezvousMessage.Leave(completed, orderly, shortened(reason)));
        }
    }

    private static String shortened(String reason) {
        return reason.substring(0, Math.min(reason.length(), MAX_REASON));
    }

    @Override
    public void stop() {
        stopped = true;
        ShutDownException ended = new ShutDownException("rank " + rank + " leaves the job");
        allgathers.values().forEach(allgather -> allgather.completeExceptionally(ended));
    }

    @Override
    public void close() {
        left.set(true);
        Connection<RendezvousMessage> open = connection;
        if (open != null) {
            open.flushAndClose(CLOSE_TIMEOUT);
        }
        joined.completeExceptionally(new ShutDownException("rank " + rank + " has left the job"));
        stop();
    }

    private Connection<RendezvousMessage> open(SecureConnection opened) {
        try {
            return new Connection<>(
                    opened,
                    RendezvousMessageCodec.INSTANCE,
                    RendezvousMessageCodec.maxServerBytes(size),
                    heartbeatTimeout);
        } catch (IOException e) {
            throw new ConfigurationException(
                    "joining the job as rank " + rank + ": the connection broke", e);
        }
    }

    private Connection<RendezvousMessage> joinedConnection(String doing) {
        Connection<RendezvousMessage> open = connection;
        if (open == null || !joined.isDone()) {
            throw new IllegalStateException(doing + ": rank " + rank + " has not joined yet");
        }
        if (left.get()) {
            throw new ShutDownException(doing + ": rank " + rank + " has left the job");
        }
        return open;
    }

    /// Handles the messages of the server.
    private final class ServerMessageReceiver implements Connection.Receiver<RendezvousMessage> {
        @Override
        public void received(RendezvousMessage message) throws MalformedMessageException {
            if (!(message instanceof RendezvousMessage.FromServer fromServer)) {
                throw new MalformedMessageException("a message of a client from the server");
            }
            switch (fromServer) {
                case RendezvousMessage.Refused(String reason) ->
                        joined.completeExceptionally(new ConfigurationException(reason));
                case RendezvousMessage.Joined(List<RankInfo> members) -> joined.complete(members);
                case RendezvousMessage.AllgatherResult(
                                String topic,
                                List<byte[]> contributions) -> {
                    CompletableFuture<List<byte[]>> allgather = allgathers.get(topic);
                    if (allgather != null) {
                        allgather.complete(contributions);
                    }
                }
                case RendezvousMessage.DescribeRequest(int requester, int surveyId) ->
                        describe(requester, surveyId);
                case RendezvousMessage.SurveyAnswer(int surveyId, int answering, byte[] text) ->
                        activeSurvey(surveyId).ifPresent(mine -> mine.answered(answering, text));
                case RendezvousMessage.SurveyComplete(int surveyId) ->
                        activeSurvey(surveyId).ifPresent(Survey::complete);
                case RendezvousMessage.Lost lost -> lost(lost);
            }
        }

        @Override
        public void closed(CloseReason closeReason) {
            ended = true;
            Survey open = survey;
            if (open != null) {
                open.complete();
            }
            if (!left.get() && firstLoss == null && !joined.isCompletedExceptionally()) {
                lost(serverLost(closeReason));
            }
        }

        private void describe(int requester, int surveyId) {
            Connection<RendezvousMessage> open = connection;
            if (open != null) {
                byte[] text = StateDescription.of(listener());
                open.send(new RendezvousMessage.DescribeReply(requester, surveyId, text));
            }
        }

        private Optional<Survey> activeSurvey(int surveyId) {
            return Optional.ofNullable(survey).filter(open -> open.id() == surveyId);
        }

        private void lost(RendezvousMessage.Lost lost) {
            if (firstLoss == null) {
                firstLoss = lost;
            }
            allgathers.forEach(
                    (topic, allgather) ->
                            allgather.completeExceptionally(
                                    PeerLoss.toException("allgather of '" + topic + "'", lost)));
            boolean joining =
                    joined.completeExceptionally(
                            PeerLoss.toException("joining the job as rank " + rank, lost));
            if (!joining && !left.get()) {
                listener().rankDeparted(lost.rankDeparture());
            }
        }

        private RendezvousMessage.Lost serverLost(CloseReason closeReason) {
            String reason =
                    switch (closeReason.kind()) {
                        case CLOSED -> "is gone: " + closeReason.detail();
                        case TIMED_OUT -> "is gone or cut off: " + closeReason.detail();
                        case PROTOCOL_ERROR -> "sends invalid data: " + closeReason.detail();
                    };
            String server = "(rendezvous server at " + connector + ") " + reason;
            return serverRank == LAUNCHER
                    ? lost(connector.host(), "the launcher " + server, -1)
                    : serverRankLost("its process " + server);
        }

        /// Before all ranks have joined, only the address of the server's host is known.
        private RendezvousMessage.Lost serverRankLost(String reason) {
            List<RankInfo> members = joined.exceptionally(_ -> List.of()).getNow(List.of());
            return members.isEmpty()
                    ? lost(connector.host(), reason, -1)
                    : lost(members.get(serverRank).host(), reason, members.get(serverRank).pid());
        }

        private RendezvousMessage.Lost lost(String host, String reason, long pid) {
            return new RendezvousMessage.Lost(
                    new RankDeparture(serverRank, host, reason, false, Map.of()), pid);
        }

        private Listener listener() {
            Listener present = listener;
            if (present == null) {
                throw new IllegalStateException("a message came before join");
            }
            return present;
        }
    }

    private <T> T outcome(CompletableFuture<T> future) {
        try {
            return future.join(); // not interruptible: the other ranks would still wait
        } catch (CompletionException e) {
            switch (e.getCause()) {
                case HorovodException known -> throw known.atCaller();
                case TimeoutException late ->
                        throw new ConfigurationException(
                                """
                                joining the job as rank %d: the rendezvous server at %s was reached, \
                                but not all ranks had joined after %s
                                Give the launcher and all ranks the same --start-timeout (HOROVOD_START_TIMEOUT)."""
                                        .formatted(
                                                rank,
                                                connector,
                                                DurationFormat.seconds(
                                                        startTimeout.plus(heartbeatTimeout))),
                                late);
                case null, default -> throw e;
            }
        }
    }
}

package org.horovod4j.rendezvous;

import org.horovod4j.connection.Connection;
import org.horovod4j.connection.Connection.CloseReason;
import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.log.Log;
import org.horovod4j.spi.RankDeparture;
import org.horovod4j.spi.RankInfo;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Map;

/// Handles the messages of one client, on the server.
final class ClientSession implements Connection.Receiver<RendezvousMessage> {
    private static final Logger LOGGER = Log.of(ClientSession.class);

    /// More than a correct rank can send: an allgather takes longer than this allows.
    private static final int MAX_MESSAGES_PER_SECOND = 20_000;

    private static final int NO_RANK = -1;
    private static final long SECOND_NANOS = Duration.ofSeconds(1).toNanos();

    private final Connection<RendezvousMessage> connection;
    private final RendezvousGenerations generations;
    private final Runnable onClose;
    private @Nullable RendezvousGeneration generation;
    private int rank = -1;
    private long windowNanos = System.nanoTime();
    private int messages;

    ClientSession(
            Connection<RendezvousMessage> connection,
            RendezvousGenerations rendezvousGenerations,
            Runnable onClose) {
        this.connection = connection;
        this.generations = rendezvousGenerations;
        this.onClose = onClose;
    }

    @Override
    public void received(RendezvousMessage message) throws MalformedMessageException {
        throttle();
        if (!(message instanceof RendezvousMessage.FromClient fromClient)) {
            throw new MalformedMessageException("a message of the server from a client");
        }
        switch (fromClient) {
            case RendezvousMessage.Join join -> join(join);
            case RendezvousMessage.Allgather allgather -> generation().allgather(rank, allgather);
            case RendezvousMessage.SurveyRequest(int surveyId) ->
                    generation().survey(rank, surveyId);
            case RendezvousMessage.DescribeReply reply -> generation().described(rank, reply);
            case RendezvousMessage.Blocked(int missing, String reason) ->
                    generation().blocked(missing, reason);
            case RendezvousMessage.Leave leave -> generation().leave(rank, leave);
        }
    }

    @Override
    public void closed(CloseReason closeReason) {
        if (generation != null) {
            generation.disconnected(rank, closeReason);
        }
        onClose.run();
    }

    private void join(RendezvousMessage.Join join) throws MalformedMessageException {
        if (generation != null) {
            throw new MalformedMessageException("joined twice");
        }
        RendezvousGeneration requested = generations.get(join.generation());
        if (requested == null) {
            connection.send(generationOver(generations.unavailableReason(join.generation())));
        } else if (requested.join(join, connection)) {
            generation = requested;
            rank = join.rankInfo().rank();
            logJoined(join.rankInfo(), join.size());
        }
    }

    /// Not a refusal: the process may have a rank in the next generation.
    private static RendezvousMessage.Lost generationOver(String reason) {
        return new RendezvousMessage.Lost(
                new RankDeparture(NO_RANK, "", reason, false, Map.of()), NO_RANK);
    }

    /// Shows in the log which ranks a starting job still waits for.
    private static void logJoined(RankInfo rankInfo, int size) {
        LOGGER.log(
                Level.DEBUG,
                () ->
                        "rank %d of %d has joined: process %d on %s"
                                .formatted(rankInfo.rank(), size, rankInfo.pid(), rankInfo.host()));
    }

    private RendezvousGeneration generation() throws MalformedMessageException {
        if (generation == null) {
            throw new MalformedMessageException("a message before it had joined");
        }
        return generation;
    }

    /// Disconnects a client that floods the server, before its surveys flood the other ranks.
    private void throttle() throws MalformedMessageException {
        long now = System.nanoTime();
        if (now - windowNanos > SECOND_NANOS) {
            windowNanos = now;
            messages = 0;
        }
        if (++messages > MAX_MESSAGES_PER_SECOND) {
            throw new MalformedMessageException(
                    "more than " + MAX_MESSAGES_PER_SECOND + " messages in a second");
        }
    }
}

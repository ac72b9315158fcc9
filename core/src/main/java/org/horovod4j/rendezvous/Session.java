package org.horovod4j.rendezvous;

import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.log.Log;
import org.horovod4j.rendezvous.Connection.End;
import org.horovod4j.spi.Loss;
import org.horovod4j.spi.Member;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Map;

/// The server's side of one client: from its first message to its last.
final class Session implements Connection.Receiver {
    private static final Logger LOG = Log.of(Session.class);

    /// Above what a rank can say in earnest: a gather takes longer than this allows.
    private static final int MAX_MESSAGES_PER_SECOND = 20_000;

    private static final int NOBODY = -1;
    private static final long SECOND_NANOS = Duration.ofSeconds(1).toNanos();

    private final Connection connection;
    private final Worlds worlds;
    private final Runnable onEnd;
    private @Nullable World world;
    private int rank = -1;
    private long windowNanos = System.nanoTime();
    private int messages;

    Session(Connection connection, Worlds worlds, Runnable onEnd) {
        this.connection = connection;
        this.worlds = worlds;
        this.onEnd = onEnd;
    }

    @Override
    public void received(Message message) throws MalformedMessageException {
        throttle();
        if (!(message instanceof Message.FromClient said)) {
            throw new MalformedMessageException("a server's message from a client");
        }
        switch (said) {
            case Message.Heartbeat() -> {}
            case Message.Join join -> join(join);
            case Message.Gather gather -> world().gather(rank, gather);
            case Message.Survey(int number) -> world().survey(rank, number);
            case Message.Described answer -> world().described(rank, answer);
            case Message.Leave leave -> world().leave(rank, leave);
        }
    }

    @Override
    public void ended(End end) {
        if (world != null) {
            world.disconnected(rank, end);
        }
        onEnd.run();
    }

    private void join(Message.Join join) throws MalformedMessageException {
        if (world != null) {
            throw new MalformedMessageException("joined twice");
        }
        World wanted = worlds.of(join.generation());
        if (wanted == null) {
            connection.send(over(worlds.objection(join.generation())));
        } else if (wanted.join(join, connection)) {
            world = wanted;
            rank = join.member().rank();
            seated(join.member(), join.size());
        }
    }

    /// Not a refusal: the process may well have a place in the generation that came after.
    private static Message.Lost over(String reason) {
        return new Message.Lost(new Loss(NOBODY, "", reason, false, Map.of()), NOBODY);
    }

    /// For who wonders, while a job starts, whom it waits for.
    private static void seated(Member member, int size) {
        LOG.log(
                Level.DEBUG,
                () ->
                        "rank %d of %d has come: process %d on %s"
                                .formatted(member.rank(), size, member.pid(), member.host()));
    }

    private World world() throws MalformedMessageException {
        if (world == null) {
            throw new MalformedMessageException("spoke before it had joined");
        }
        return world;
    }

    /// Ends a client that floods us, before its surveys flood the others.
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

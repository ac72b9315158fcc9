package org.horovod4j.connection;

import static org.assertj.core.api.Assertions.assertThat;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.connection.Connection.CloseReason;
import org.horovod4j.connection.Connection.CloseReason.Kind;
import org.horovod4j.connection.Connection.MessageCodec;
import org.horovod4j.frame.Frame;
import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.security.Acceptor;
import org.horovod4j.security.Handshake;
import org.horovod4j.security.Handshake.Purpose;
import org.horovod4j.security.Protection;
import org.horovod4j.security.RefusedConnectionLog;
import org.horovod4j.security.Secret;
import org.horovod4j.security.SecureConnection;
import org.horovod4j.security.SocketSettings;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/// Two ends over a real socket. The peer is either another [Connection] or raw frames.
@ParameterizedClass(name = "{0}")
@EnumSource(Protection.class)
@Timeout(60)
final class ConnectionTest {
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final Duration SHORT = Duration.ofMillis(300);
    private static final int MAX_MESSAGE_BYTES = 1000;

    private final Acceptor acceptor;
    private final BlockingQueue<SecureConnection> accepted = new LinkedBlockingQueue<>();
    private final Handshake handshake;
    private SecureConnection near;
    private SecureConnection far;

    ConnectionTest(Protection protection) throws Exception {
        handshake = new Handshake(Secret.random().withProtection(protection), Purpose.RENDEZVOUS);
        acceptor =
                Acceptor.open(
                        List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)),
                        handshake,
                        SocketSettings.DEFAULT,
                        new RefusedConnectionLog(System.getLogger("test")),
                        accepted::add);
        near = handshake.initiate(SocketChannel.open(acceptor.address()));
        far = accepted.take();
    }

    @BeforeEach
    void clearTimeout() throws IOException {
        far.channel().socket().setSoTimeout(0); // the handshake's
    }

    @AfterEach
    void close() throws IOException {
        acceptor.close();
        near.close();
        far.close();
    }

    private static Connection<String> connection(SecureConnection secure, Duration timeout)
            throws IOException {
        return new Connection<>(secure, new TextCodec(), MAX_MESSAGE_BYTES, timeout);
    }

    private record TextCodec() implements MessageCodec<String> {
        @Override
        public byte[] encode(String message) {
            return message.getBytes(UTF_8);
        }

        @Override
        public String decode(byte[] bytes) throws MalformedMessageException {
            String message = new String(bytes, UTF_8);
            if (message.equals("malformed")) {
                throw new MalformedMessageException("bad text");
            }
            return message;
        }
    }

    private static final class Inbox implements Connection.Receiver<String> {
        final BlockingQueue<String> messages = new LinkedBlockingQueue<>();
        final BlockingQueue<CloseReason> reasons = new LinkedBlockingQueue<>();

        @Override
        public void received(String message) throws MalformedMessageException {
            switch (message) {
                case "refuse" -> throw new MalformedMessageException("not now");
                case "throw" -> throw new IllegalStateException("a bug");
                default -> messages.add(message);
            }
        }

        @Override
        public void closed(CloseReason closeReason) {
            reasons.add(closeReason);
        }
    }

    private static Inbox start(Connection<String> connection) {
        Inbox inbox = new Inbox();
        connection.start("test", inbox);
        return inbox;
    }

    private void sendRaw(String message) throws IOException {
        DataOutputStream out = new DataOutputStream(far.output());
        Frame.write(message.getBytes(UTF_8), out);
        out.flush();
    }

    /// The next message, without the heartbeats before it.
    private String receiveRaw() throws IOException {
        DataInputStream in = new DataInputStream(far.input());
        byte[] bytes;
        do {
            bytes = Frame.read(in, MAX_MESSAGE_BYTES);
        } while (bytes.length == 0);
        return new String(bytes, UTF_8);
    }

    @Test
    void messagesArriveInOrderBothWays() throws Exception {
        Connection<String> one = connection(near, LONG);
        Connection<String> other = connection(far, LONG);
        Inbox ofOne = start(one);
        Inbox ofOther = start(other);
        one.send("a");
        one.send("b");
        other.send("c");
        assertThat(ofOther.messages.take()).isEqualTo("a");
        assertThat(ofOther.messages.take()).isEqualTo("b");
        assertThat(ofOne.messages.take()).isEqualTo("c");
    }

    @Test
    void heartbeatsKeepAnIdleConnectionOpen() throws Exception {
        Duration timeout = Duration.ofSeconds(6);
        Connection<String> one = connection(near, timeout);
        Inbox ofOne = start(one);
        Inbox ofOther = start(connection(far, timeout));
        Thread.sleep(timeout.plusMillis(500));
        one.send("still open");
        assertThat(ofOther.messages.take()).isEqualTo("still open");
        assertThat(ofOne.reasons).isEmpty();
        assertThat(ofOther.reasons).isEmpty();
    }

    @Test
    void silentPeerTimesOut() throws Exception {
        Inbox inbox = start(connection(near, SHORT));
        assertThat(inbox.reasons.take())
                .isEqualTo(new CloseReason(Kind.TIMED_OUT, "silent for 0.3 s"));
    }

    @Test
    void peerCloseIsReported() throws Exception {
        Inbox inbox = start(connection(near, LONG));
        far.close();
        CloseReason reason = inbox.reasons.take();
        assertThat(reason.kind()).isEqualTo(Kind.CLOSED);
        assertThat(reason.detail()).startsWith("its connection ");
    }

    @Test
    void oversizedFrameIsAProtocolError() throws Exception {
        Inbox inbox = start(connection(near, LONG));
        DataOutputStream out = new DataOutputStream(far.output());
        out.writeInt(MAX_MESSAGE_BYTES + 1);
        out.flush();
        CloseReason reason = inbox.reasons.take();
        assertThat(reason.kind()).isEqualTo(Kind.PROTOCOL_ERROR);
        assertThat(reason.detail())
                .startsWith("it sent a malformed message: ")
                .contains("1001 bytes", "at most 1000");
    }

    @Test
    void malformedMessageIsAProtocolError() throws Exception {
        Inbox inbox = start(connection(near, LONG));
        sendRaw("malformed");
        assertThat(inbox.reasons.take())
                .isEqualTo(
                        new CloseReason(
                                Kind.PROTOCOL_ERROR, "it sent a malformed message: bad text"));
    }

    @Test
    void messageThatReceiverRefusesIsAProtocolError() throws Exception {
        Inbox inbox = start(connection(near, LONG));
        sendRaw("refuse");
        assertThat(inbox.reasons.take().detail()).isEqualTo("it sent a malformed message: not now");
    }

    @Test
    void exceptionOfReceiverClosesTheConnection() throws Exception {
        Inbox inbox = start(connection(near, LONG));
        sendRaw("throw");
        assertThat(inbox.reasons.take().detail())
                .isEqualTo("handling its message failed: java.lang.IllegalStateException: a bug");
        assertThat(start(connection(far, LONG)).reasons.take().kind()).isEqualTo(Kind.CLOSED);
    }

    @Test
    void flushAndCloseSendsWhatIsQueued() throws Exception {
        Connection<String> one = connection(near, LONG);
        Inbox ofOther = start(connection(far, LONG));
        Inbox ofOne = start(one);
        for (int i = 0; i < 1000; i++) {
            one.send("message " + i);
        }
        one.flushAndClose(LONG);
        assertThat(ofOther.reasons.take().kind()).isEqualTo(Kind.CLOSED);
        assertThat(ofOther.messages).hasSize(1000);
        assertThat(ofOne.reasons.take().kind()).isEqualTo(Kind.CLOSED);
    }

    @Test
    void finishSendsWhatIsQueuedWithoutWaiting() throws Exception {
        Connection<String> one = connection(near, LONG);
        Inbox ofOne = start(one);
        one.send("last");
        one.finish();
        assertThat(receiveRaw()).isEqualTo("last");
        assertThat(ofOne.reasons).as("the peer has not closed").isEmpty();
        far.close();
        assertThat(ofOne.reasons.take().kind()).isEqualTo(Kind.CLOSED);
    }

    @Test
    void whatIsSentOnCloseReachesThePeer() throws Exception {
        Connection<String> one = connection(near, SHORT);
        one.start(
                "test",
                new Connection.Receiver<>() {
                    @Override
                    public void received(String message) {}

                    @Override
                    public void closed(CloseReason closeReason) {
                        one.send("you were " + closeReason.detail());
                    }
                });
        assertThat(receiveRaw()).isEqualTo("you were silent for 0.3 s");
    }

    @Test
    void peerThatDoesNotReadIsDisconnected() throws Exception {
        Connection<String> one = connection(near, LONG);
        Inbox inbox = start(one);
        String message = "x".repeat(MAX_MESSAGE_BYTES);
        while (near.channel().isOpen()) {
            one.send(message);
        }
        CloseReason reason = inbox.reasons.take();
        assertThat(reason.kind()).isEqualTo(Kind.CLOSED);
        assertThat(reason.detail()).startsWith("its connection ");
    }

    @Test
    void messageWithoutBytesClosesTheConnection() throws Exception {
        Connection<String> one = connection(near, LONG);
        Inbox inbox = start(one);
        one.send("");
        assertThat(inbox.reasons.take().kind()).isEqualTo(Kind.CLOSED);
    }
}

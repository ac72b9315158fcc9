package org.horovod4j.security;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.junit.jupiter.api.Test;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.List;
import java.util.Set;

final class ListeningSocketsTest {
    @Test
    void selectedKeysAreTakenOnceAndUnderTheLockOfTheirSet() throws Exception {
        InetSocketAddress bind = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        try (ListeningSockets sockets =
                        ListeningSockets.open(List.of(bind), SocketSettings.DEFAULT);
                SocketChannel _ = SocketChannel.open(sockets.address())) {
            assertThat(sockets.selector().select()).isEqualTo(1);
            Set<SelectionKey> selected = sockets.selector().selectedKeys();
            Thread taking = Thread.ofPlatform().unstarted(sockets::takeSelected);
            synchronized (selected) { // as a selector that is being closed
                taking.start();
                await().until(() -> taking.getState() == Thread.State.BLOCKED);
                assertThat(selected).hasSize(1);
            }
            taking.join();
            assertThat(selected).isEmpty();
            ServerSocketChannel listening = sockets.channels().getFirst();
            assertThat(sockets.selector().select()).isEqualTo(1); // it was not accepted
            assertThat(sockets.takeSelected())
                    .containsExactly(listening.keyFor(sockets.selector()));
        }
    }
}

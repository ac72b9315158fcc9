package org.horovod4j.security;

import org.horovod4j.ConfigurationException;
import org.horovod4j.log.Log;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/// Sockets that listen at one port of several addresses, registered with a selector.
///
/// @param address the first address, with the port that was picked
record ListeningSockets(
        Selector selector, List<ServerSocketChannel> channels, InetSocketAddress address)
        implements AutoCloseable {
    private static final Logger LOGGER = Log.of(ListeningSockets.class);
    private static final int BACKLOG = 4096;

    /// A port that is free at the first address may be taken at another one.
    private static final int MAX_ATTEMPTS = 10;

    /// @param binds with equal ports; port 0 picks one
    /// @throws ConfigurationException when it cannot listen there
    static ListeningSockets open(List<InetSocketAddress> binds, SocketSettings settings) {
        boolean anyPort = binds.getFirst().getPort() == 0 && binds.size() > 1;
        int attemptsLeft = anyPort ? MAX_ATTEMPTS : 1;
        while (true) {
            try {
                return bind(binds, settings);
            } catch (IOException e) {
                if (--attemptsLeft == 0) {
                    throw new ConfigurationException(
                            """
                            listening at %s: %s
                            Choose an address of this host and a port that is free (0 picks one)."""
                                    .formatted(
                                            binds.size() == 1 ? binds.getFirst() : binds,
                                            e.getMessage()),
                            e);
                }
            }
        }
    }

    private static ListeningSockets bind(List<InetSocketAddress> binds, SocketSettings settings)
            throws IOException {
        Selector selector = Selector.open();
        List<ServerSocketChannel> channels = new ArrayList<>();
        try {
            int port = binds.getFirst().getPort();
            for (InetSocketAddress each : binds) {
                ServerSocketChannel channel = ServerSocketChannel.open();
                channels.add(channel);
                settings.apply(channel);
                channel.bind(new InetSocketAddress(each.getAddress(), port), BACKLOG);
                channel.configureBlocking(false);
                channel.register(selector, SelectionKey.OP_ACCEPT);
                port = channel.socket().getLocalPort();
            }
            InetSocketAddress first = (InetSocketAddress) channels.getFirst().getLocalAddress();
            return new ListeningSockets(selector, List.copyOf(channels), first);
        } catch (IOException e) {
            new ListeningSockets(selector, channels, binds.getFirst()).close();
            throw e;
        }
    }

    /// Removes and returns the keys that the selector has selected. Another thread that closes the
    /// selector changes the set too, under the lock of the set.
    List<SelectionKey> takeSelected() {
        Set<SelectionKey> selected = selector.selectedKeys();
        synchronized (selected) {
            List<SelectionKey> taken = List.copyOf(selected);
            selected.clear();
            return taken;
        }
    }

    /// Frees the port, and ends a wait in the selector.
    @Override
    public void close() {
        try {
            for (ServerSocketChannel channel : channels) {
                channel.close();
            }
            selector.close();
        } catch (IOException e) {
            LOGGER.log(Level.DEBUG, "Closing the listener at " + address + " failed", e);
        }
    }
}

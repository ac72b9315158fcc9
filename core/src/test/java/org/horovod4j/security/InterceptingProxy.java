package org.horovod4j.security;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;

/// A proxy between the two ends of one connection. Bytes of the initiator are held until the test
/// passes them on, changed or not. Bytes to the initiator are passed on at once.
final class InterceptingProxy implements AutoCloseable {
    private final ServerSocket listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
    private final InetSocketAddress target;
    private final LinkedBlockingQueue<Byte> held = new LinkedBlockingQueue<>();
    private final Socket acceptor = new Socket();
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

    InterceptingProxy(InetSocketAddress target) throws IOException {
        this.target = target;
        threads.execute(this::listen);
    }

    InetSocketAddress address() {
        return (InetSocketAddress) listener.getLocalSocketAddress();
    }

    /// Waits for `count` bytes of the initiator.
    byte[] take(int count) throws InterruptedException {
        byte[] bytes = new byte[count];
        for (int i = 0; i < count; i++) {
            bytes[i] = held.take();
        }
        return bytes;
    }

    void pass(byte[] bytes) throws IOException {
        acceptor.getOutputStream().write(bytes);
    }

    /// Passes on `count` bytes of the initiator unchanged.
    void pass(int count) throws IOException, InterruptedException {
        pass(take(count));
    }

    /// Closes the connection to the acceptor as a process does when it exits.
    void cut() throws IOException {
        acceptor.shutdownOutput();
    }

    @Override
    public void close() throws IOException {
        listener.close();
        acceptor.close(); // ends both threads
        threads.close();
    }

    private void listen() {
        try (Socket initiator = listener.accept()) {
            acceptor.connect(target);
            threads.execute(() -> copy(initiator));
            int next;
            while ((next = initiator.getInputStream().read()) >= 0) {
                held.add((byte) next);
            }
        } catch (SocketException e) {
            // The test has ended.
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void copy(Socket initiator) {
        try (initiator) {
            acceptor.getInputStream().transferTo(initiator.getOutputStream());
        } catch (SocketException e) {
            // The test has ended.
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

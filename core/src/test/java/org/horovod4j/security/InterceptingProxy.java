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

/// Somebody between the two ends of one connection. What comes from the dialler is kept back until
/// the test passes it on, as it is or otherwise; what goes to the dialler goes at once.
final class InterceptingProxy implements AutoCloseable {
    private final ServerSocket door = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
    private final InetSocketAddress target;
    private final LinkedBlockingQueue<Byte> kept = new LinkedBlockingQueue<>();
    private final Socket far = new Socket();
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

    InterceptingProxy(InetSocketAddress target) throws IOException {
        this.target = target;
        threads.execute(this::listen);
    }

    InetSocketAddress address() {
        return (InetSocketAddress) door.getLocalSocketAddress();
    }

    /// Waits for so many bytes of the dialler.
    byte[] take(int count) throws InterruptedException {
        byte[] bytes = new byte[count];
        for (int i = 0; i < count; i++) {
            bytes[i] = kept.take();
        }
        return bytes;
    }

    void pass(byte[] bytes) throws IOException {
        far.getOutputStream().write(bytes);
    }

    /// Passes on so many bytes of the dialler as they are.
    void pass(int count) throws IOException, InterruptedException {
        pass(take(count));
    }

    /// Ends the connection towards the acceptor in the way of a process that ends.
    void cut() throws IOException {
        far.shutdownOutput();
    }

    @Override
    public void close() throws IOException {
        door.close();
        far.close(); // which ends the way back, and that the way forth
        threads.close();
    }

    private void listen() {
        try (Socket near = door.accept()) {
            far.connect(target);
            threads.execute(() -> copy(near));
            int next;
            while ((next = near.getInputStream().read()) >= 0) {
                kept.add((byte) next);
            }
        } catch (SocketException e) {
            // The test has ended.
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void copy(Socket near) {
        try (near) {
            far.getInputStream().transferTo(near.getOutputStream());
        } catch (SocketException e) {
            // The test has ended.
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

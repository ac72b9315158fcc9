package org.horovod4j.launcher.remote;

import java.io.InputStream;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.Queue;
import java.util.function.IntConsumer;

/// The received part of a stream of a remote process.
///
/// Reading returns credit to the sender, in amounts worth a message. So at most
/// [AgentMessage.StandardStream#WINDOW] bytes are buffered here, and the receiving thread never
/// blocks.
final class RemoteStream extends InputStream {
    private final IntConsumer creditSender;
    private final Queue<byte[]> chunks = new ArrayDeque<>();
    private int position;
    private int pendingCredit;
    private boolean ended;

    /// @param creditSender tells the sender how many more bytes it may send
    RemoteStream(IntConsumer creditSender) {
        this.creditSender = creditSender;
    }

    /// Appends received bytes. No bytes mark the end.
    synchronized void append(byte[] bytes) {
        if (bytes.length == 0) {
            ended = true;
        } else if (!ended) {
            chunks.add(bytes);
        }
        notifyAll();
    }

    /// Whether no more bytes come. Some may be unread.
    synchronized boolean hasEnded() {
        return ended;
    }

    @Override
    public int read() {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] bytes, int from, int length) {
        Objects.checkFromIndexSize(from, length, bytes.length);
        int count = length == 0 ? 0 : take(bytes, from, length);
        int granted = count > 0 ? takeCredit(count) : 0;
        if (granted > 0) {
            creditSender.accept(granted); // outside the lock: it may wait for the network
        }
        return count;
    }

    @Override
    public synchronized int available() {
        return chunks.stream().mapToInt(chunk -> chunk.length).sum() - position;
    }

    private synchronized int take(byte[] bytes, int from, int length) {
        boolean interrupted = false;
        while (chunks.isEmpty() && !ended) {
            try {
                wait();
            } catch (InterruptedException e) {
                interrupted = true; // like a read of a pipe, keeps waiting
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        byte[] first = chunks.peek();
        if (first == null) {
            return -1;
        }
        int count = Math.min(length, first.length - position);
        System.arraycopy(first, position, bytes, from, count);
        position += count;
        if (position == first.length) {
            chunks.remove();
            position = 0;
        }
        return count;
    }

    private synchronized int takeCredit(int count) {
        pendingCredit += count;
        if (pendingCredit < AgentMessage.StandardStream.WINDOW / 4) {
            return 0;
        }
        int granted = pendingCredit;
        pendingCredit = 0;
        return granted;
    }
}

package org.horovod4j.launcher;

import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.concurrent.DelayQueue;
import java.util.concurrent.Delayed;
import java.util.concurrent.TimeUnit;

/// A program that imitates a slow network: it copies standard input to standard output, and from a
/// given byte on delays it by some milliseconds.
final class DelayedPipe {
    private DelayedPipe() {}

    /// @param bytes empty at the end
    @SuppressWarnings("ArrayRecordComponent") // neither changed nor compared
    private record Packet(byte[] bytes, long dueNanos) implements Delayed {
        @Override
        public long getDelay(TimeUnit unit) {
            return unit.convert(dueNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
        }

        @Override
        public int compareTo(Delayed other) {
            return Long.compare(dueNanos, ((Packet) other).dueNanos);
        }
    }

    /// Copies standard input until its end.
    ///
    /// @param arguments the delay in milliseconds, and the first delayed byte
    public static void main(String[] arguments) throws IOException, InterruptedException {
        long delayNanos = TimeUnit.MILLISECONDS.toNanos(Long.parseLong(arguments[0]));
        DelayQueue<Packet> underWay = new DelayQueue<>();
        long from = Long.parseLong(arguments[1]);
        Thread.ofPlatform().daemon().start(() -> read(underWay, delayNanos, from));
        OutputStream out = System.out;
        byte[] bytes = underWay.take().bytes;
        while (bytes.length > 0) {
            out.write(bytes);
            out.flush();
            bytes = underWay.take().bytes;
        }
    }

    private static void read(DelayQueue<Packet> underWay, long delayNanos, long from) {
        byte[] chunk = new byte[1 << 16];
        long count = 0;
        int length;
        do {
            try {
                length = System.in.read(chunk);
            } catch (IOException e) {
                length = -1;
            }
            byte[] bytes = Arrays.copyOf(chunk, Math.max(0, length));
            count += bytes.length;
            underWay.add(new Packet(bytes, System.nanoTime() + (count > from ? delayNanos : 0)));
        } while (length >= 0);
    }
}

package org.horovod4j.launcher.output;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.EnumSet;
import java.util.Set;

/// The launcher's own two streams, shared by all ranks.
///
/// One lock guards both, since both usually end on the same screen. When nobody reads a stream any
/// more (`horovodrun … | head`), the job goes on and what it prints there is dropped: hours of
/// training are worth more than their log.
public final class Console {
    /// The two streams of a process, each forwarded to the launcher's own of that name.
    public enum Channel {
        STDOUT("stdout"),
        STDERR("stderr");

        private final String label;

        Channel(String label) {
            this.label = label;
        }

        @Override
        public String toString() {
            return label;
        }
    }

    private final Object lock = new Object();
    private final OutputStream out;
    private final OutputStream err;
    private final Set<Channel> closed = EnumSet.noneOf(Channel.class);

    public Console(OutputStream out, OutputStream err) {
        this.out = out;
        this.err = err;
    }

    /// The streams of this process, without the buffers and decoders of `System.out`.
    public static Console ofThisProcess() {
        return new Console(
                new FileOutputStream(FileDescriptor.out), new FileOutputStream(FileDescriptor.err));
    }

    /// Writes whole lines; nothing of another rank comes in between.
    public void write(Channel channel, byte[] lines, int length) {
        synchronized (lock) {
            if (closed.contains(channel)) {
                return;
            }
            try {
                OutputStream stream = channel == Channel.STDOUT ? out : err;
                stream.write(lines, 0, length);
                stream.flush();
            } catch (IOException e) {
                closed.add(channel);
                say(
                        "cannot write to %s any more (%s); the job goes on without it"
                                .formatted(channel, e.getMessage()));
            }
        }
    }

    /// Prints plain text on standard output, for `--help` and `--version`.
    public void print(String text) {
        byte[] bytes = text.getBytes(UTF_8);
        write(Channel.STDOUT, bytes, bytes.length);
    }

    /// Prints a message of the launcher itself, on standard error and under its own name.
    public void say(String message) {
        byte[] bytes = ("horovodrun: " + message + "\n").getBytes(UTF_8);
        write(Channel.STDERR, bytes, bytes.length);
    }
}

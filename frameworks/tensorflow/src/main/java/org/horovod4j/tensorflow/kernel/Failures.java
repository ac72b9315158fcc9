package org.horovod4j.tensorflow.kernel;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;

/// The last exceptions of kernels. TensorFlow carries only their text to the program.
public final class Failures {
    private static final int CAPACITY = 64;
    private static final Deque<Throwable> LAST = new ArrayDeque<>();

    private Failures() {}

    /// Keeps an exception and returns its text.
    static String record(Throwable failure) {
        synchronized (LAST) {
            LAST.addFirst(failure);
            if (LAST.size() > CAPACITY) {
                LAST.removeLast();
            }
        }
        return text(failure);
    }

    /// The exception of a kernel that a message of TensorFlow contains the text of.
    public static Optional<Throwable> find(String message) {
        synchronized (LAST) {
            return LAST.stream().filter(failure -> message.contains(text(failure))).findFirst();
        }
    }

    private static String text(Throwable failure) {
        String message = failure.getMessage();
        return message == null ? failure.toString() : message;
    }
}

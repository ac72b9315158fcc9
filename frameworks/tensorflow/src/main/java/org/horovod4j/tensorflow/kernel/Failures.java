package org.horovod4j.tensorflow.kernel;

import java.util.ArrayDeque;
import java.util.Comparator;
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

    /// The exception of this type whose text a message of TensorFlow contains. If there are several,
    /// the one with the longest text; of equal texts the newest.
    public static <T extends Throwable> Optional<T> find(String message, Class<T> type) {
        synchronized (LAST) {
            return LAST.stream()
                    .filter(type::isInstance)
                    .filter(failure -> message.contains(text(failure)))
                    .max(Comparator.comparingInt(failure -> text(failure).length()))
                    .map(type::cast);
        }
    }

    /// Never empty: all messages contain an empty text.
    private static String text(Throwable failure) {
        String message = failure.getMessage();
        return message == null || message.isBlank() ? failure.toString() : message;
    }
}

package org.horovod4j.launcher.function;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.jspecify.annotations.Nullable;

import java.lang.reflect.Constructor;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/// An exception that a rank threw, as data: its class may exist only on that rank, and objects of
/// any class cannot be sent.
///
/// @param text class and message, as the exception prints itself
/// @param cause null if it has none
public record ThrownException(
        String className,
        @Nullable String message,
        String text,
        List<Frame> frames,
        @Nullable ThrownException cause,
        List<ThrownException> suppressed) {
    private static final int MAX_MESSAGE = 10_000;

    /// Room for a message and what the exception prints with it.
    private static final int MAX_TEXT = 2 * MAX_MESSAGE;

    private static final int MAX_FRAMES = 500;

    /// A chain of causes may be endless.
    private static final int MAX_DEPTH = 20;

    private static final int MAX_SUPPRESSED = 10;

    public ThrownException {
        frames = List.copyOf(frames);
        suppressed = List.copyOf(suppressed);
    }

    /// A frame of a stack trace.
    ///
    /// @param file null if it is unknown
    public record Frame(String className, String method, @Nullable String file, int line) {}

    static ThrownException of(Throwable thrown) {
        return of(thrown, MAX_DEPTH);
    }

    private static ThrownException of(Throwable thrown, int depth) {
        String message = message(thrown);
        String brief = message == null ? null : limited(message, MAX_MESSAGE);
        String text = text(thrown, message);
        Throwable cause = thrown.getCause();
        return new ThrownException(
                thrown.getClass().getName(),
                brief,
                // with the same message, or the restored exception would print something else
                limited(
                        message == null || brief == null ? text : text.replace(message, brief),
                        MAX_TEXT),
                Stream.of(thrown.getStackTrace())
                        .limit(MAX_FRAMES)
                        .map(ThrownException::frame)
                        .toList(),
                cause == null || depth == 0 ? null : of(cause, depth - 1),
                depth == 0
                        ? List.of()
                        : Stream.of(thrown.getSuppressed())
                                .limit(MAX_SUPPRESSED)
                                .map(each -> of(each, 0))
                                .toList());
    }

    /// The class of an exception may override this method, and fail in it.
    private static @Nullable String message(Throwable thrown) {
        try {
            return thrown.getMessage();
        } catch (RuntimeException | Error e) {
            return "(no message, because getMessage() threw %s)".formatted(e.getClass().getName());
        }
    }

    private static String text(Throwable thrown, @Nullable String message) {
        try {
            return String.valueOf(thrown.toString());
        } catch (RuntimeException | Error e) {
            String name = thrown.getClass().getName();
            return message == null ? name : name + ": " + message;
        }
    }

    private static Frame frame(StackTraceElement element) {
        return new Frame(
                element.getClassName(),
                element.getMethodName(),
                element.getFileName(),
                element.getLineNumber());
    }

    /// Truncates, and replaces half surrogate pairs, which cannot be encoded.
    private static String limited(String raw, int length) {
        String brief = raw.length() <= length ? raw : raw.substring(0, length) + "…";
        return new String(brief.getBytes(UTF_8), UTF_8);
    }

    /// An exception of the same class, with the same message, frames and causes. If that class
    /// cannot be loaded or takes no message, the exception has another class and prints the same.
    ///
    /// @param loader of the classes of the launching program
    public Throwable restore(ClassLoader loader) {
        Throwable restoredCause = cause == null ? null : cause.restore(loader);
        Throwable restored = instantiate(loader, restoredCause);
        if (restored == null) {
            restored = new RemoteThrowable(this, restoredCause);
        }
        restored.setStackTrace(
                frames.stream()
                        .map(
                                frame ->
                                        new StackTraceElement(
                                                frame.className,
                                                frame.method,
                                                frame.file,
                                                frame.line))
                        .toArray(StackTraceElement[]::new));
        for (ThrownException each : suppressed) {
            restored.addSuppressed(each.restore(loader));
        }
        return restored;
    }

    /// @return null if the class has no suitable constructor, or makes another message of this one
    private @Nullable Throwable instantiate(ClassLoader loader, @Nullable Throwable restoredCause) {
        try {
            Class<?> type = Class.forName(className, false, loader);
            if (!Throwable.class.isAssignableFrom(type)) {
                return null;
            }
            for (Constructor<?> constructor : type.getConstructors()) {
                Throwable made = instantiate(constructor, restoredCause);
                if (made != null
                        && Objects.equals(made.getMessage(), message)
                        && made.toString().equals(text)
                        && hasCause(made, restoredCause)) {
                    return made;
                }
            }
            return null;
        } catch (ReflectiveOperationException
                | RuntimeException
                | LinkageError
                | StackOverflowError e) {
            return null; // its class is not usable here
        }
    }

    private @Nullable Throwable instantiate(
            Constructor<?> constructor, @Nullable Throwable restoredCause)
            throws ReflectiveOperationException {
        Class<?>[] types = constructor.getParameterTypes();
        if (types.length == 2
                && types[0] == String.class
                && Throwable.class.isAssignableFrom(types[1])
                && (restoredCause == null || types[1].isInstance(restoredCause))) {
            return (Throwable) constructor.newInstance(message, restoredCause);
        }
        if (types.length == 1 && types[0] == String.class) {
            return (Throwable) constructor.newInstance(message);
        }
        return types.length == 0 && message == null ? (Throwable) constructor.newInstance() : null;
    }

    /// Whether the exception has this cause, or takes it now.
    private static boolean hasCause(Throwable made, @Nullable Throwable cause) {
        if (made.getCause() == null && cause != null) {
            try {
                made.initCause(cause);
            } catch (IllegalStateException e) {
                return false; // its constructor has set that there is none
            }
        }
        return Objects.equals(made.getCause(), cause);
    }

    /// Stands for an exception whose class is not usable in this program.
    private static final class RemoteThrowable extends Exception {
        private static final long serialVersionUID = 1L;

        private final String text;

        RemoteThrowable(ThrownException thrown, @Nullable Throwable cause) {
            super(thrown.message, cause);
            this.text = thrown.text;
        }

        /// With the name of the original class, so that it prints like the original exception.
        @Override
        @SuppressWarnings("OverrideThrowableToString")
        public String toString() {
            return text;
        }
    }
}

package org.horovod4j.runtime.stall;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/// A thread of a rank's program, and where it is.
///
/// @param state of the thread, such as `WAITING`
/// @param frames the innermost first, without those of Horovod4J that the program did not call
///     itself
public record ProgramThread(String name, String state, List<String> frames) {
    private static final String OURS = "org.horovod4j.";

    /// Programs of this project, whose frames count as those of a user.
    private static final List<String> PROGRAMS =
            List.of("org.horovod4j.examples.", "org.horovod4j.launcher.");

    /// Threads of which only the JDK is on the stack are idle, or belong to the JVM.
    private static final List<String> JDK = List.of("java.", "javax.", "jdk.", "sun.");

    private static final String OWN_THREADS = "hvd-";
    private static final String MAIN = "main";
    private static final int MAX_THREADS = 4;
    private static final int MAX_FRAMES = 12;

    public ProgramThread {
        frames = List.copyOf(frames);
    }

    /// The threads of this process in which code of the program runs or waits, the main thread
    /// first. Virtual threads are not among them. The JVM stops all threads for a moment.
    public static List<ProgramThread> capture() {
        List<Map.Entry<Thread, StackTraceElement[]>> all =
                new ArrayList<>(Thread.getAllStackTraces().entrySet());
        all.sort(
                Comparator.comparing(
                                (Map.Entry<Thread, StackTraceElement[]> each) ->
                                        !each.getKey().getName().equals(MAIN))
                        .thenComparing(each -> each.getKey().isDaemon())
                        .thenComparingLong(each -> each.getKey().threadId()));
        return all.stream()
                .filter(each -> !each.getKey().getName().startsWith(OWN_THREADS))
                .flatMap(
                        each ->
                                of(
                                        each.getKey().getName(),
                                        each.getKey().getState(),
                                        each.getValue())
                                        .stream())
                .limit(MAX_THREADS)
                .toList();
    }

    /// Empty for a thread without code of the program.
    static Optional<ProgramThread> of(
            String name, Thread.State state, StackTraceElement... stackTrace) {
        List<String> frames = new ArrayList<>();
        boolean hasProgram = false;
        for (int i = 0; i < stackTrace.length; i++) {
            StackTraceElement frame = stackTrace[i];
            boolean isOurs = !isOfProgram(frame);
            boolean isCalledByOurs = i + 1 < stackTrace.length && !isOfProgram(stackTrace[i + 1]);
            if (isOurs && isCalledByOurs) {
                continue; // folded into the call that the program made
            }
            hasProgram |= !isOurs && !isOfJdk(frame);
            frames.add(text(frame));
        }
        int more = frames.size() - MAX_FRAMES;
        List<String> shown =
                new ArrayList<>(frames.subList(0, Math.min(frames.size(), MAX_FRAMES)));
        if (more > 0) {
            shown.add("… %d more".formatted(more));
        }
        return hasProgram
                ? Optional.of(new ProgramThread(name, state.toString(), shown))
                : Optional.empty();
    }

    /// Whether a frame belongs to the program or a library of it, and not to Horovod4J.
    public static boolean isOfProgram(StackTraceElement frame) {
        String type = frame.getClassName();
        return !type.startsWith(OURS) || PROGRAMS.stream().anyMatch(type::startsWith);
    }

    private static boolean isOfJdk(StackTraceElement frame) {
        return JDK.stream().anyMatch(frame.getClassName()::startsWith);
    }

    /// Without class loader and module, which make lines long.
    private static String text(StackTraceElement frame) {
        String file = frame.getFileName() == null ? "" : frame.getFileName();
        String place = frame.getLineNumber() < 0 ? file : file + ":" + frame.getLineNumber();
        return "at %s.%s(%s)".formatted(frame.getClassName(), frame.getMethodName(), place);
    }

    /// The thread in lines that start with `indent`.
    String describe(String indent) {
        StringBuilder text = new StringBuilder();
        text.append("\n%sthread %s, %s".formatted(indent, name, state));
        frames.forEach(frame -> text.append("\n").append(indent).append("  ").append(frame));
        return text.toString();
    }
}

package org.horovod4j.launcher.remote;

import org.horovod4j.launcher.process.Program;
import org.horovod4j.launcher.process.Signal;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/// What launcher and agent say to each other: the one gives orders, the other tells news.
///
/// Arrays belong to the message, and nobody changes them.
@SuppressWarnings("ArrayRecordComponent")
sealed interface Message {
    /// Shows that the sender is alive.
    record Heartbeat() implements Order, News {}

    /// From the launcher.
    sealed interface Order extends Message {}

    /// From the agent.
    sealed interface News extends Message {}

    /// The first order: gets ready for a job, answered by [Ready].
    ///
    /// @param mark the variable and value that its processes are known by
    /// @param environment what all its processes get, besides what the host itself sets
    record Open(String mark, Duration heartbeatTimeout, Map<String, String> environment)
            implements Order {}

    /// Appends to a file of the agent's own folder, and makes it first if need be.
    ///
    /// @param path relative to that folder
    record Put(String path, boolean executable, byte[] bytes) implements Order {}

    /// Asks how a program is run here, answered by [Found] or [Missing].
    record Find(List<String> words) implements Order {}

    /// Starts a process, answered by [Started] or [NotStarted].
    ///
    /// @param process the number by which both speak of it
    record Start(int process, List<String> command, Map<String, String> variables)
            implements Order {}

    /// Allows so many more bytes of a stream to be sent.
    record Credit(int process, Stream stream, int bytes) implements Order {}

    /// Signals all processes.
    record SignalAll(Signal signal) implements Order {}

    /// Kills one process.
    record Kill(int process) implements Order {}

    /// Ends the streams of a process that has ended, as soon as they are silent.
    record Drain(int process) implements Order {}

    /// There will be no more orders about a process that has ended, but credits and [Drain] until
    /// both its streams have ended too.
    record Forget(int process) implements Order {}

    /// Ends what processes have left behind, answered by [Swept].
    record Sweep() implements Order {}

    record Ready() implements News {}

    record Found(Program program) implements News {}

    record Missing(String reason) implements News {}

    record Started(int process, long pid) implements News {}

    record NotStarted(int process, String reason) implements News {}

    /// The next bytes of a stream; none at its end.
    record Output(int process, Stream stream, byte[] bytes) implements News {}

    record Exited(int process, int status) implements News {}

    record Swept(List<String> left) implements News {}

    /// The agent's last words: it cannot do what it was told, and ends.
    record Failed(String reason) implements News {}

    /// The two streams of a process.
    enum Stream {
        OUT,
        ERR;

        /// How many bytes of a stream may be under way: enough to keep a fast network busy, and
        /// all that a launcher ever has to hold of it when nobody reads its own output.
        static final int WINDOW = 1 << 18;
    }
}

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
sealed interface AgentMessage {
    /// Shows that the sender is alive.
    record Heartbeat() implements FromLauncher, FromAgent {}

    /// From the launcher.
    sealed interface FromLauncher extends AgentMessage {}

    /// From the agent.
    sealed interface FromAgent extends AgentMessage {}

    /// The first order: gets ready for a job, answered by [Ready].
    ///
    /// @param jobVariable the variable and value that its processes are known by
    /// @param environment what all its processes get, besides what the host itself sets
    record Open(String jobVariable, Duration heartbeatTimeout, Map<String, String> environment)
            implements FromLauncher {}

    /// Appends to a file of the agent's own folder, and makes it first if need be.
    ///
    /// @param path relative to that folder
    record WriteFile(String path, boolean executable, byte[] bytes) implements FromLauncher {}

    /// Asks how a program is run here, answered by [ProgramFound] or [ProgramMissing].
    record FindProgram(List<String> words) implements FromLauncher {}

    /// Starts a process, answered by [Started] or [NotStarted].
    ///
    /// @param process the number by which both speak of it
    record Start(int process, List<String> command, Map<String, String> variables)
            implements FromLauncher {}

    /// Allows so many more bytes of a stream to be sent.
    record Credit(int process, StandardStream standardStream, int bytes) implements FromLauncher {}

    /// Signals all processes.
    record SignalAll(Signal signal) implements FromLauncher {}

    /// Kills one process.
    record Kill(int process) implements FromLauncher {}

    /// Ends the streams of a process that has ended, as soon as they are silent.
    record Drain(int process) implements FromLauncher {}

    /// There will be no more orders about a process that has ended, but credits and [Drain] until
    /// both its streams have ended too.
    record Forget(int process) implements FromLauncher {}

    /// Ends what processes have left behind, answered by [Swept].
    record Sweep() implements FromLauncher {}

    record Ready() implements FromAgent {}

    record ProgramFound(Program program) implements FromAgent {}

    record ProgramMissing(String reason) implements FromAgent {}

    record Started(int process, long pid) implements FromAgent {}

    record NotStarted(int process, String reason) implements FromAgent {}

    /// The next bytes of a stream; none at its end.
    record Output(int process, StandardStream standardStream, byte[] bytes) implements FromAgent {}

    record Exited(int process, int status) implements FromAgent {}

    record Swept(List<String> left) implements FromAgent {}

    /// The agent's last words: it cannot do what it was told, and ends.
    record Failed(String reason) implements FromAgent {}

    /// The two streams of a process.
    enum StandardStream {
        OUT,
        ERR;

        /// How many bytes of a stream may be under way: enough to keep a fast network busy, and
        /// all that a launcher ever has to hold of it when nobody reads its own output.
        static final int WINDOW = 1 << 18;
    }
}

package org.horovod4j.launcher.remote;

import org.horovod4j.launcher.process.Signal;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/// The messages between launcher and agent.
///
/// Arrays belong to the message and are never changed.
@SuppressWarnings("ArrayRecordComponent")
sealed interface AgentMessage {
    /// Shows that the sender is alive.
    record Heartbeat() implements FromLauncher, FromAgent {}

    /// From the launcher.
    sealed interface FromLauncher extends AgentMessage {}

    /// From the agent.
    sealed interface FromAgent extends AgentMessage {}

    /// The first message: prepares for a job. Answered by [Ready].
    ///
    /// @param jobVariable the variable and value that mark its processes
    /// @param environment added to the environment of all its processes
    record Open(String jobVariable, Duration heartbeatTimeout, Map<String, String> environment)
            implements FromLauncher {}

    /// Appends to a file in the agent's folder. Creates it if necessary.
    ///
    /// @param path relative to that folder
    record WriteFile(String path, boolean executable, byte[] bytes) implements FromLauncher {}

    /// Asks how to run a program on the host. Answered by [ProgramFound] or [ProgramMissing].
    record FindProgram(List<String> words) implements FromLauncher {}

    /// Starts a process. Answered by [Started] or [NotStarted].
    ///
    /// @param process the number that identifies it in all messages
    record Start(int process, List<String> command, Map<String, String> variables)
            implements FromLauncher {}

    /// Allows the agent to send so many more bytes of a stream.
    record Credit(int process, StandardStream standardStream, int bytes) implements FromLauncher {}

    /// Signals all processes.
    record SignalAll(Signal signal) implements FromLauncher {}

    /// Kills one process.
    record Kill(int process) implements FromLauncher {}

    /// Ends the streams of a process that has exited, as soon as they are idle.
    record Drain(int process) implements FromLauncher {}

    /// The last message about a process that has exited, except credits and [Drain] until both its
    /// streams have ended.
    record Forget(int process) implements FromLauncher {}

    /// Ends processes that were left behind. Answered by [Swept].
    record Sweep() implements FromLauncher {}

    /// The answer to [Open].
    ///
    /// The components are those of [org.horovod4j.launcher.process.HostMachine].
    record Ready(String machine, int processors, int gpus, String java) implements FromAgent {}

    /// The components are those of [org.horovod4j.launcher.process.Program].
    record ProgramFound(List<String> command, String unwantedLine, List<String> missingJars)
            implements FromAgent {}

    record ProgramMissing(String reason) implements FromAgent {}

    record Started(int process, long pid) implements FromAgent {}

    record NotStarted(int process, String reason) implements FromAgent {}

    /// The next bytes of a stream. No bytes mark its end.
    record Output(int process, StandardStream standardStream, byte[] bytes) implements FromAgent {}

    record Exited(int process, int status) implements FromAgent {}

    record Swept(List<String> left) implements FromAgent {}

    /// The agent cannot do what it was told, and exits.
    record Failed(String reason) implements FromAgent {}

    /// The two streams of a process.
    enum StandardStream {
        OUT,
        ERR;

        /// How many bytes of a stream may be unread: enough to keep a fast network busy, and the
        /// most that the launcher has to buffer when its own output is not read.
        static final int WINDOW = 1 << 18;
    }
}

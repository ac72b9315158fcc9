package org.horovod4j.launcher.process;

import java.io.IOException;
import java.util.List;
import java.util.Map;

/// Starts the processes of a job on one host, and ends them.
///
/// The launcher knows hosts through this alone, so that a host behind ssh is one more
/// implementation.
public interface HostAgent extends AutoCloseable {
    /// Starts `command` in a process group of its own, with this launcher's environment and
    /// `variables`. Safe to call from several threads.
    Process start(List<String> command, Map<String, String> variables) throws IOException;

    /// Tells the agent that a process which it started is gone.
    void ended(Process process);

    /// Sends a signal to the process groups of all processes that [#start] gave and that are left.
    void signal(Signal signal);

    /// Ends what the processes have left behind: theirs or their children's children, in whichever
    /// session. To be called once, after all of them have ended.
    ///
    /// @return a description of each process that had to be ended: its number and command line
    List<String> sweep() throws InterruptedException;

    /// Lets go of the host; whatever is left of the job there is ended.
    @Override
    void close();
}

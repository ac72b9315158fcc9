package org.horovod4j.launcher.process;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/// Starts the processes of a job on one host, and ends them.
///
/// The launcher knows hosts through this alone, be it this machine or one behind ssh.
public interface HostAgent extends AutoCloseable {
    /// The program that `words` name, as this host runs it.
    ///
    /// @throws org.horovod4j.ConfigurationException when it is not there
    Program program(List<String> words) throws IOException;

    /// Starts `command` in a process group of its own, with this launcher's environment and
    /// `variables`. Safe to call from several threads.
    Process start(List<String> command, Map<String, String> variables) throws IOException;

    /// Names who is told when contact with the host is lost, and why: from then on nothing is known
    /// of its processes, which end by themselves.
    void onLoss(Consumer<String> listener);

    /// Tells the agent that a process which it started is gone.
    void ended(Process process);

    /// Asks for the end of the streams of a process that has ended, for something that left the job
    /// unseen may hold them open for ever.
    ///
    /// @return after how long a silence a reader here may give them up
    Duration drain(Process process);

    /// Kills a process that [#start] gave, and all that is left of its process group.
    void kill(Process process);

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

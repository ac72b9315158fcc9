package org.horovod4j.launcher.process;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/// Starts the processes of a job on one host, and ends them. The host is this machine or one behind
/// ssh.
public interface HostAgent extends AutoCloseable {
    /// The variable that names the file with the job's secret.
    String SECRET_FILE = "HOROVOD_SECRET_FILE";

    /// The machine, whatever its name is.
    HostMachine machine();

    /// The program that `words` name, as this host runs it.
    ///
    /// @throws org.horovod4j.ConfigurationException when it is not there
    Program program(List<String> words) throws IOException;

    /// Starts `command` in its own process group, with this launcher's environment and
    /// `variables`. If these contain [#SECRET_FILE], its value is the secret itself: it goes into a
    /// new file that only this user can read, and the process gets the name of the file. Safe to
    /// call from several threads.
    Process start(List<String> command, Map<String, String> variables) throws IOException;

    /// Adds a listener for the loss of the host, called with the reason. The state of its processes
    /// is then unknown; the host ends them by itself.
    void onLoss(Consumer<String> listener);

    /// To be called when a process that it started has exited.
    void ended(Process process);

    /// Asks the host to end the output streams of a process that has exited: a process that escaped
    /// the job may hold them open forever.
    ///
    /// @return after how long without bytes a reader here may give up
    Duration drain(Process process);

    /// Kills a process that [#start] returned, and the rest of its process group.
    void kill(Process process);

    /// Sends a signal to the process groups of all processes that [#start] returned.
    void signal(Signal signal);

    /// Ends the descendants that the processes left behind, in any session. To be called once,
    /// after all of the processes have exited.
    ///
    /// @return for each descendant its process number and command line
    List<String> sweep() throws InterruptedException;

    /// Releases the host. What is left of the job there is ended.
    @Override
    void close();
}

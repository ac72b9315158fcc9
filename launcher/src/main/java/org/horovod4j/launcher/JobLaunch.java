package org.horovod4j.launcher;

import org.horovod4j.launcher.driver.Driver;
import org.horovod4j.launcher.output.OutputTargets;

import java.io.IOException;

/// Launches a job whose processes the launcher starts itself.
///
/// The launches of fixed and elastic jobs differ in their [Driver], in when hosts are made ready,
/// and in the servers that the workers connect to.
abstract sealed class JobLaunch permits FixedLaunch, ElasticLaunch {
    final LaunchContext context;

    JobLaunch(LaunchContext context) {
        this.context = context;
    }

    abstract Driver newDriver();

    /// Runs a job to its end, with the servers that its workers need. Forwards signals to it.
    ///
    /// @param signals may not be ready yet: to be asked for last
    abstract void serve(Job job, int command, Hosts hosts, AsyncValue<TerminationSignals> signals)
            throws InterruptedException;

    /// Runs the commands one after the other, each after the one before has succeeded everywhere.
    ///
    /// @return the exit code of the launcher
    int runCommands(
            Hosts hosts, OutputTargets outputTargets, AsyncValue<TerminationSignals> signals)
            throws IOException, InterruptedException {
        int last = context.launch().commands().size() - 1;
        for (int command = 0; ; command++) {
            Job job = new Job(newDriver(), hosts, command, outputTargets, context.verbose());
            serve(job, command, hosts, signals);
            hosts.ended(command, job.succeeded(), signals.get().firstSignal());
            if (command == last || !job.succeeded()) {
                return job.conclude();
            }
            job.awaitOutput();
        }
    }
}

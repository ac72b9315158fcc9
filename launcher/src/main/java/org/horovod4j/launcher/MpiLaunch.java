package org.horovod4j.launcher;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.command.Controller;
import org.horovod4j.launcher.command.Invocation;
import org.horovod4j.launcher.command.RemoteSetup;
import org.horovod4j.launcher.mpi.MpiJob;
import org.horovod4j.launcher.mpi.MpiRunner;
import org.horovod4j.launcher.output.LauncherConsole;
import org.horovod4j.launcher.plan.HostPlan;
import org.horovod4j.launcher.process.JavaHome;
import org.horovod4j.launcher.process.Program;
import org.horovod4j.launcher.process.SearchPath;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;

/// A job whose processes `mpirun` starts.
record MpiLaunch(LauncherConsole launcherConsole, Map<String, String> environment) {
    /// Runs the job to its end, and gives the exit code of `mpirun`.
    int run(
            Invocation.Launch launch,
            Controller.Mpi mpi,
            JobSettings settings,
            Callable<TerminationSignals> interrupts)
            throws IOException, InterruptedException {
        HostPlan _ = HostPlan.of(launch.hosts(), launch.processes()); // or there are too few slots
        Map<String, String> variables = new HashMap<>(environment);
        variables.putAll(launch.options());
        MpiRunner run =
                new MpiRunner(
                        launcherConsole,
                        launch.outputSettings().verbose(),
                        variables,
                        settings.id(),
                        settings.secret(),
                        settings.heartbeatTimeout(),
                        settings.startTimeout());
        AsyncValue.of(interrupts).get().forwardTo(run::interrupt);
        return run.run(
                new MpiJob(
                        launch.processes(),
                        launch.hosts(),
                        launch.commands().stream()
                                .map(command -> words(command, launch.remoteSetup()))
                                .toList(),
                        mpi.arguments(),
                        mpi.bindingArguments(),
                        mpi.tcpOnly(),
                        settings.networkInterfaces(),
                        launch.outputSettings().folder(),
                        launch.outputSettings().timestamps()));
    }

    /// The same words for all hosts, as `mpirun` takes one command line.
    private List<String> words(List<String> command, RemoteSetup remoteSetup) {
        if (!remoteSetup.copies().isEmpty()) {
            throw new ConfigurationException(
                    "--mpi: mpirun copies no files to other hosts. Put them where all hosts find them"
                            + " under one path, and leave the copying out.");
        }
        List<String> words = new ArrayList<>(command);
        String java = remoteSetup.java();
        if (java != null && words.getFirst().equals("java")) {
            words.set(0, java);
        }
        return Program.of(
                        words,
                        SearchPath.of(environment.getOrDefault("PATH", "")),
                        JavaHome.current())
                .command();
    }
}

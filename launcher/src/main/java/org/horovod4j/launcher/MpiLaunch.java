package org.horovod4j.launcher;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.command.Controller;
import org.horovod4j.launcher.command.Invocation;
import org.horovod4j.launcher.command.RemoteSide;
import org.horovod4j.launcher.mpi.MpiJob;
import org.horovod4j.launcher.mpi.MpiRun;
import org.horovod4j.launcher.output.Console;
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
record MpiLaunch(Console console, Map<String, String> environment) {
    /// Runs the job to its end, and gives the exit code of `mpirun`.
    int run(
            Invocation.Launch launch,
            Controller.Mpi mpi,
            JobSettings settings,
            Callable<Interrupts> interrupts)
            throws IOException, InterruptedException {
        HostPlan _ = HostPlan.of(launch.hosts(), launch.processes()); // or there are too few slots
        Map<String, String> variables = new HashMap<>(environment);
        variables.putAll(launch.options());
        MpiRun run =
                new MpiRun(
                        console,
                        launch.reporting().verbose(),
                        variables,
                        settings.id(),
                        settings.secret(),
                        settings.heartbeatTimeout(),
                        settings.startTimeout());
        Soon.of(interrupts).get().passOn(run::interrupt);
        return run.run(
                new MpiJob(
                        launch.processes(),
                        launch.hosts(),
                        launch.commands().stream()
                                .map(command -> words(command, launch.remoteSide()))
                                .toList(),
                        mpi.arguments(),
                        mpi.bindingArguments(),
                        mpi.tcpOnly(),
                        settings.networkInterfaces(),
                        launch.reporting().folder(),
                        launch.reporting().timestamps()));
    }

    /// The same words for all hosts, as `mpirun` takes one command line.
    private List<String> words(List<String> command, RemoteSide remoteSide) {
        if (!remoteSide.copies().isEmpty()) {
            throw new ConfigurationException(
                    "--mpi: mpirun copies no files to other hosts. Put them where all hosts find them"
                            + " under one path, and leave the copying out.");
        }
        List<String> words = new ArrayList<>(command);
        String java = remoteSide.java();
        if (java != null && words.getFirst().equals("java")) {
            words.set(0, java);
        }
        return Program.of(
                        words, SearchPath.of(environment.getOrDefault("PATH", "")), JavaHome.own())
                .command();
    }
}

package org.horovod4j.launcher;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.command.Invocation;
import org.horovod4j.launcher.command.Invocation.Controller;
import org.horovod4j.launcher.command.Invocation.RemoteSetup;
import org.horovod4j.launcher.mpi.MpiJob;
import org.horovod4j.launcher.mpi.MpiRunner;
import org.horovod4j.launcher.plan.JobSettings;
import org.horovod4j.launcher.process.JavaHome;
import org.horovod4j.launcher.process.Program;
import org.horovod4j.launcher.process.SearchPath;
import org.horovod4j.option.Environment;
import org.horovod4j.option.Options;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;

/// Launches a job whose processes `mpirun` starts.
final class MpiLaunch {
    private MpiLaunch() {}

    /// Runs the job to its end, and returns the exit code of `mpirun`.
    static int run(LaunchContext context, Controller.Mpi mpi, Callable<TerminationSignals> install)
            throws IOException, InterruptedException {
        Invocation.Launch launch = context.launch();
        checkGpus(launch.mergedWith(context.environment()));
        JobSettings settings = context.settings();
        MpiRunner run =
                new MpiRunner(
                        context.launcherConsole(),
                        context.verbose(),
                        launch.mergedWith(context.environment()),
                        settings);
        AsyncValue.of(install).get().forwardTo(run::interrupt);
        return run.run(
                new MpiJob(
                        launch.processes(),
                        launch.hosts(),
                        launch.commands().stream()
                                .map(command -> words(context, command, launch.remoteSetup()))
                                .toList(),
                        mpi.arguments(),
                        mpi.bindingArguments(),
                        mpi.tcpOnly(),
                        settings.networkInterfaces(),
                        launch.outputSettings().folder(),
                        launch.outputSettings().timestamps()));
    }

    /// `mpirun` gives all processes the same variables.
    private static void checkGpus(Map<String, String> environment) {
        if (new Environment(environment).find(Options.GPUS_PER_RANK).orElse(0) > 0) {
            throw new ConfigurationException(
                    "--mpi: mpirun cannot show each rank its own GPUs. Leave out --gpus-per-rank, or"
                            + " --mpi.");
        }
    }

    /// The same words for all hosts, since `mpirun` takes one command line.
    private static List<String> words(
            LaunchContext context, List<String> command, RemoteSetup remoteSetup) {
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
        Program program =
                Program.of(
                        words,
                        SearchPath.of(context.environment().getOrDefault("PATH", "")),
                        JavaHome.current());
        program.notices().forEach(context.launcherConsole()::printMessage);
        return program.command();
    }
}

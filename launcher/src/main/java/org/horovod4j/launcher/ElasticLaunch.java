package org.horovod4j.launcher;

import org.horovod4j.ConfigurationException;
import org.horovod4j.elastic.registry.WorkerRegistry;
import org.horovod4j.launcher.command.Elasticity;
import org.horovod4j.launcher.command.Invocation;
import org.horovod4j.launcher.driver.Discovery;
import org.horovod4j.launcher.driver.DiscoveryException;
import org.horovod4j.launcher.driver.DiscoveryScript;
import org.horovod4j.launcher.driver.DiscoveryWatch;
import org.horovod4j.launcher.driver.ElasticDriver;
import org.horovod4j.launcher.output.LauncherConsole;
import org.horovod4j.launcher.output.OutputTargets;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.process.LocalHost;
import org.horovod4j.launcher.process.Signal;
import org.horovod4j.launcher.remote.RemoteHostSettings;
import org.horovod4j.option.Options;
import org.horovod4j.rendezvous.MembershipListener;
import org.horovod4j.rendezvous.RendezvousServer;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;

/// Launches jobs whose workers come and go. Reads from top to bottom like the life of one.
final class ElasticLaunch {
    /// Between two looks for hosts.
    private static final Duration DISCOVERY_PAUSE = Duration.ofSeconds(1);

    private final LauncherConsole launcherConsole;
    private final Invocation.Launch launch;
    private final Elasticity elasticity;
    private final JobSettings settings;
    private final RemoteHostSettings remoteHostSettings;
    private final Optional<ClassArchives> archives;
    private volatile @Nullable ElasticJob current;

    ElasticLaunch(
            LauncherConsole launcherConsole,
            Invocation.Launch launch,
            Elasticity elasticity,
            JobSettings settings,
            RemoteHostSettings remoteHostSettings,
            Optional<ClassArchives> archives) {
        this.launcherConsole = launcherConsole;
        this.launch = launch;
        this.elasticity = elasticity;
        this.settings = settings;
        this.remoteHostSettings = remoteHostSettings;
        this.archives = archives;
    }

    /// Runs the commands of a job, each once the one before has ended well, and gives the exit
    /// code.
    int run(Callable<TerminationSignals> interrupts) throws IOException, InterruptedException {
        AsyncValue<TerminationSignals> caught = AsyncValue.of(interrupts);
        int exitCode = 0;
        try (OutputTargets outputTargets =
                OutputTargets.ofWorkers(
                        launcherConsole,
                        launch.outputSettings().folder(),
                        launch.outputSettings().timestamps())) {
            for (List<String> command : launch.commands()) {
                if (exitCode == 0 && !caught.get().anyReceived()) {
                    exitCode = run(command, outputTargets, caught.get());
                }
            }
        }
        return exitCode;
    }

    private int run(
            List<String> command,
            OutputTargets outputTargets,
            TerminationSignals terminationSignals)
            throws IOException, InterruptedException {
        try (ElasticHosts hosts = ElasticHosts.open(remoteHostSettings, command, archives)) {
            ElasticJob job =
                    new ElasticJob(
                            new ElasticDriver(
                                    elasticity.elasticLimits(),
                                    settings.elasticTimeout(),
                                    elasticity.cooldown()),
                            hosts,
                            outputTargets,
                            launch.outputSettings().verbose());
            current = job;
            terminationSignals.forwardTo(this::interrupt);
            if (elasticity.script() == null) {
                hosts.requireProgram(launch.hosts());
                job.found(launch.hosts());
                serve(job);
            } else {
                serve(job, elasticity.script(), terminationSignals);
            }
            hosts.ended(job.wentWell(), terminationSignals.firstSignal());
            return job.conclude();
        }
    }

    /// With hosts that a script finds. A signal ends the wait for the first of them too.
    private void serve(ElasticJob job, String script, TerminationSignals terminationSignals)
            throws InterruptedException {
        Discovery discovery =
                new DiscoveryScript(
                        script,
                        elasticity.slotsPerHost(),
                        elasticity.login(),
                        Map.of(Options.JOB_ID.variable(), settings.id()),
                        DiscoveryScript.TIMEOUT);
        try (DiscoveryWatch watch =
                new DiscoveryWatch(
                        discovery, DISCOVERY_PAUSE, job::found, launcherConsole::printMessage)) {
            watch.start(terminationSignals.firstSignal());
            serve(job);
        } catch (DiscoveryException e) {
            throw new ConfigurationException(
                    "--host-discovery-script: '%s' found no hosts: %s. It must print lines such as gpu1:4."
                            .formatted(script, e.getMessage()),
                    e);
        }
    }

    private void serve(ElasticJob job) throws InterruptedException {
        InetSocketAddress anyPort = bind();
        try (RendezvousServer rendezvous =
                        RendezvousServer.startElastic(
                                settings.secret(),
                                anyPort,
                                settings.heartbeatTimeout(),
                                settings.startTimeout(),
                                MembershipListener.NONE);
                WorkerRegistry desk =
                        WorkerRegistry.open(
                                settings.secret(), anyPort, settings.heartbeatTimeout(), job)) {
            JobVariables variables = variables(rendezvous.address().getPort());
            job.run(
                    new ElasticJob.Reception(
                            rendezvous,
                            desk,
                            (worker, remote) ->
                                    variables.of(worker, desk.address().getPort(), remote)));
        }
    }

    private void interrupt(Signal signal) {
        ElasticJob job = current;
        if (job != null) {
            job.interrupt(signal);
        }
    }

    /// As few as possible can reach a job that stays on this machine.
    private InetSocketAddress bind() {
        return mayBeRemote()
                ? new InetSocketAddress(0)
                : new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    }

    /// Whether any worker may be on another host: a script may yet name one.
    private boolean mayBeRemote() {
        return elasticity.script() != null
                || !launch.hosts().stream().map(Host::name).allMatch(LocalHost::isNamed);
    }

    /// Made once, before any worker: a network interface that is not there is found then.
    private JobVariables variables(int port) {
        return new JobVariables(
                settings,
                LauncherAddress.of(port, mayBeRemote(), settings.networkInterfaces()),
                launch.options());
    }
}

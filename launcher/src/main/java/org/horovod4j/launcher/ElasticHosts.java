package org.horovod4j.launcher;

import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.process.HostAgent;
import org.horovod4j.launcher.process.LocalHost;
import org.horovod4j.launcher.process.Program;
import org.horovod4j.launcher.process.Signal;
import org.horovod4j.launcher.remote.HostNotReadyException;
import org.horovod4j.launcher.remote.RemoteHost;
import org.horovod4j.launcher.remote.RemoteHostSettings;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;

/// The hosts of an elastic job, by name, which come and go while it runs. Unlike [Hosts], each is
/// made ready by itself.
///
/// Names that mean this machine share one agent. It is there from the start, whatever hosts there
/// are: its watchdog also ends a discovery script that outlives the launcher. Safe for use by
/// several threads.
final class ElasticHosts implements AutoCloseable {
    /// A host that is ready for workers.
    ///
    /// @param agent who starts processes there
    /// @param program how it runs the program
    record Ready(HostAgent agent, Program program, boolean isRemote) {}

    private final RemoteHostSettings job;
    private final List<String> command;
    private final Optional<ClassArchives> archives;
    private final HostAgent local;
    private final Map<String, Ready> ready = new ConcurrentHashMap<>();

    /// One for all names of this machine, as its archive of classes is to be written once; null
    /// before it is asked for.
    private @Nullable Program localProgram;

    /// Complete once no more hosts are wanted.
    private final CompletableFuture<Void> closed = new CompletableFuture<>();

    private ElasticHosts(
            RemoteHostSettings job,
            List<String> command,
            Optional<ClassArchives> archives,
            HostAgent local) {
        this.job = job;
        this.command = command;
        this.archives = archives;
        this.local = local;
    }

    /// Gets this machine ready for a job.
    ///
    /// @param archives where archives of classes are kept on this machine, if they are
    /// @throws org.horovod4j.ConfigurationException when a file that hosts are to get cannot be
    ///     read
    static ElasticHosts open(
            RemoteHostSettings job, List<String> command, Optional<ClassArchives> archives)
            throws IOException {
        CopySources.requireReadable(job.copies());
        return new ElasticHosts(job, command, archives, LocalHost.open(job.jobVariable()));
    }

    /// Checks that this machine has the program, if any of these names mean it.
    ///
    /// @throws org.horovod4j.ConfigurationException when it has not
    void requireProgram(List<Host> named) throws IOException {
        if (named.stream().map(Host::name).anyMatch(LocalHost::isNamed)) {
            var _ = localProgram();
        }
    }

    /// Makes a host ready, which may take the start timeout.
    ///
    /// @throws HostNotReadyException with one sentence that says why and what to do
    /// @throws org.horovod4j.ConfigurationException when it has no such program
    HostAgent add(Host host) throws IOException, HostNotReadyException {
        if (LocalHost.isNamed(host.name())) {
            ready.put(host.name(), new Ready(local, localProgram(), false));
            return local;
        }
        HostAgent agent = RemoteHost.open(host, job, closed);
        boolean isKept = false;
        try {
            Ready opened = new Ready(agent, agent.program(command), true);
            isKept = keep(host.name(), opened);
        } finally {
            if (!isKept) {
                agent.close();
            }
        }
        return agent;
    }

    /// Unless the job has ended while the host was made ready.
    private synchronized boolean keep(String host, Ready opened) {
        boolean isWanted = !closed.isDone();
        if (isWanted) {
            ready.put(host, opened);
        }
        return isWanted;
    }

    /// How this machine runs the program.
    private synchronized Program localProgram() throws IOException {
        if (localProgram == null) {
            Program program = local.program(command);
            localProgram = archives.map(each -> each.of(program)).orElse(program);
        }
        return localProgram;
    }

    /// Lets go of a host that has no workers any more, or is lost. Does not wait for its agent to
    /// end.
    ///
    /// @param farewell what is to be done before, on a thread of its own; it must come to an end
    void remove(String host, Runnable farewell) {
        Ready removed = ready.remove(host);
        if (removed != null && removed.isRemote) {
            Thread.ofPlatform()
                    .daemon()
                    .name("hvd-release")
                    .start(
                            () -> {
                                farewell.run();
                                removed.agent.close();
                            });
        }
    }

    /// The host of this name, unless it is not ready, or gone by now.
    Optional<Ready> find(String host) {
        return Optional.ofNullable(ready.get(host));
    }

    /// Whether this one is who starts processes on the host of this name today.
    boolean isAgent(HostAgent agent, String host) {
        return find(host).map(Ready::agent).filter(agent::equals).isPresent();
    }

    void signal(Signal signal) {
        agents().forEach(agent -> agent.signal(signal));
    }

    /// Ends what the job has left behind, on all hosts at once.
    ///
    /// @return number and command line of each process
    List<String> sweep() throws IOException, InterruptedException {
        return ParallelTasks.map(agents(), HostAgent::sweep).stream()
                .flatMap(List::stream)
                .toList();
    }

    /// Tells how the job ended. Only programs of this machine have an archive that wants to know.
    ///
    /// @param interrupted when complete, the user wants this to end
    synchronized void ended(boolean wentWell, CompletionStage<?> interrupted) {
        if (localProgram != null) {
            localProgram.ended(wentWell, interrupted);
        }
    }

    private Set<HostAgent> agents() {
        Set<HostAgent> agents = new LinkedHashSet<>(Set.of(local));
        ready.values().forEach(each -> agents.add(each.agent));
        return agents;
    }

    @Override
    public void close() {
        synchronized (this) {
            boolean _ = closed.complete(null);
        }
        try {
            ParallelTasks.map(
                    agents(),
                    agent -> {
                        agent.close();
                        return true;
                    });
        } catch (IOException e) {
            System.getLogger(ElasticHosts.class.getName())
                    .log(Level.DEBUG, "A host did not close", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}

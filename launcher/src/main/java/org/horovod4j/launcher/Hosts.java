package org.horovod4j.launcher;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.output.LauncherConsole;
import org.horovod4j.launcher.output.StartupProgress;
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
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/// The hosts that are ready to run the commands of a job, by name.
///
/// Names of this machine share one agent, which needs no ssh. Thread-safe.
final class Hosts implements AutoCloseable {
    /// A host that is ready for processes.
    ///
    /// @param programs how it runs each command of the job
    record Ready(HostAgent agent, List<Program> programs, boolean isRemote) {}

    /// Some hosts cannot take part in the job. The message has a line for each.
    static final class NotReadyException extends IOException {
        private static final long serialVersionUID = 1;

        private final String summary;

        /// @param problems for each host, as in "node2: it has no java"
        NotReadyException(int hosts, List<String> problems) {
            super(summary(hosts, problems) + ":\n  " + String.join("\n  ", problems));
            this.summary = summary(hosts, problems);
        }

        private static String summary(int hosts, List<String> problems) {
            return "%d of %d hosts are not ready, so nothing was started"
                    .formatted(problems.size(), hosts);
        }

        /// The first line, for a user who has seen the others as they became known.
        String summary() {
            return summary;
        }
    }

    private final RemoteHostSettings settings;
    private final List<List<String>> commands;
    private final Optional<ClassArchives> archives;
    private final Consumer<String> notices;
    private final Map<String, Ready> ready = new ConcurrentSkipListMap<>();

    /// Complete when no more hosts are wanted.
    private final CompletableFuture<Void> closed = new CompletableFuture<>();

    private @Nullable HostAgent localAgent;
    private @Nullable List<Program> localPrograms;

    /// @param archives where class archives are kept on this machine, if they are
    /// @param cancellation when complete, hosts that are not ready yet count as not ready
    /// @param notices receives messages about programs that may not work
    Hosts(
            RemoteHostSettings settings,
            List<List<String>> commands,
            Optional<ClassArchives> archives,
            CompletionStage<?> cancellation,
            Consumer<String> notices) {
        this.settings = settings;
        this.commands = commands;
        this.archives = archives;
        this.notices = notices;
        var _ = cancellation.thenRun(() -> closed.complete(null));
    }

    /// Makes all these hosts ready, at the same time.
    ///
    /// @param launcherConsole shows how many are ready, and what is wrong with a host as soon as
    ///     that is known: others may take as long as the start timeout
    /// @throws ConfigurationException when a command cannot be found on this machine
    /// @throws NotReadyException when other hosts are not ready
    void addAll(List<Host> hosts, LauncherConsole launcherConsole)
            throws IOException, InterruptedException {
        List<Boolean> isLocal = ParallelTasks.map(hosts, host -> LocalHost.isNamed(host.name()));
        List<Host> remote = new ArrayList<>();
        for (int index = 0; index < hosts.size(); index++) {
            if (isLocal.get(index)) {
                addLocal(hosts.get(index).name());
            } else {
                remote.add(hosts.get(index));
            }
        }
        if (remote.isEmpty()) {
            return;
        }
        List<String> problems =
                addRemote(remote, launcherConsole).stream().flatMap(Optional::stream).toList();
        if (!problems.isEmpty()) {
            throw new NotReadyException(hosts.size(), problems);
        }
    }

    /// @return for each host what is wrong with it, if anything
    private List<Optional<String>> addRemote(List<Host> hosts, LauncherConsole launcherConsole)
            throws IOException, InterruptedException {
        try (StartupProgress startupProgress =
                StartupProgress.showHosts(
                        launcherConsole, hosts.stream().map(Host::name).toList())) {
            return ParallelTasks.map(
                    hosts,
                    host -> {
                        Optional<String> problem = tryAddRemote(host);
                        problem.ifPresent(
                                it ->
                                        launcherConsole.printMessage(
                                                "host %s is not ready: %s"
                                                        .formatted(host.name(), it)));
                        startupProgress.joined(hosts.indexOf(host));
                        return problem.map(it -> "%s: %s".formatted(host.name(), it));
                    });
        }
    }

    private Optional<String> tryAddRemote(Host host) {
        try {
            HostAgent _ = addRemote(host);
            return Optional.empty();
        } catch (HostNotReadyException | IOException | ConfigurationException e) {
            return Optional.of(String.valueOf(e.getMessage()));
        }
    }

    /// Makes a host ready, unless it is. May take as long as the start timeout.
    ///
    /// @throws HostNotReadyException with one sentence that says why and what to do
    /// @throws ConfigurationException when a command cannot be found there
    HostAgent add(Host host) throws IOException, HostNotReadyException {
        Ready known = ready.get(host.name());
        if (known != null) {
            return known.agent;
        }
        return LocalHost.isNamed(host.name()) ? addLocal(host.name()) : addRemote(host);
    }

    private HostAgent addLocal(String name) throws IOException {
        HostAgent agent = openLocal();
        ready.put(name, new Ready(agent, localPrograms(), false));
        return agent;
    }

    private HostAgent addRemote(Host host) throws IOException, HostNotReadyException {
        HostAgent agent = RemoteHost.open(host, settings, closed);
        boolean isKept = false;
        try {
            List<Program> programs = programs(agent);
            reportMissingJars("host %s: ".formatted(host.name()), programs);
            isKept = keep(host.name(), new Ready(agent, programs, true));
        } finally {
            if (!isKept) {
                agent.close();
            }
        }
        return agent;
    }

    /// @return false when the job ended while the host was made ready
    private synchronized boolean keep(String host, Ready opened) {
        boolean isWanted = !closed.isDone();
        if (isWanted) {
            ready.put(host, opened);
        }
        return isWanted;
    }

    private List<Program> programs(HostAgent agent) throws IOException {
        List<Program> programs = new ArrayList<>();
        for (List<String> words : commands) {
            programs.add(agent.program(words));
        }
        return List.copyOf(programs);
    }

    private void reportMissingJars(String where, List<Program> programs) {
        programs.stream()
                .flatMap(program -> program.notices().stream())
                .distinct()
                .forEach(notice -> notices.accept(where + notice));
    }

    /// Starts the agent of this machine, unless it runs. Its watchdog ends everything on this
    /// machine that carries the job's variable, such as a discovery script.
    synchronized HostAgent openLocal() throws IOException {
        if (localAgent == null) {
            localAgent = LocalHost.open(settings.jobVariable());
        }
        return localAgent;
    }

    /// One list for all names of this machine, since its class archives are written once.
    ///
    /// @throws ConfigurationException when a command cannot be found on this machine
    synchronized List<Program> localPrograms() throws IOException {
        if (localPrograms == null) {
            localPrograms =
                    programs(openLocal()).stream()
                            .map(program -> archives.map(each -> each.of(program)).orElse(program))
                            .toList();
            reportMissingJars("", localPrograms);
        }
        return localPrograms;
    }

    /// Removes a host that has no workers left, or is lost. Does not wait until its agent ends.
    ///
    /// @param before runs first, on another thread; must end
    void remove(String host, Runnable before) {
        Ready removed = ready.remove(host);
        if (removed != null && removed.isRemote) {
            Runnable release =
                    () -> {
                        before.run();
                        removed.agent.close();
                    };
            Thread.ofPlatform().daemon().name("hvd-release").start(release);
        }
    }

    /// The host of this name, if it is ready.
    Optional<Ready> find(String host) {
        return Optional.ofNullable(ready.get(host));
    }

    /// Whether the host of this name has this agent now.
    boolean isAgent(HostAgent agent, String host) {
        return find(host).map(Ready::agent).filter(agent::equals).isPresent();
    }

    void forEachAgent(BiConsumer<String, HostAgent> action) {
        ready.forEach((name, host) -> action.accept(name, host.agent));
    }

    /// Identifies the machine of a host that is ready. The same for all its names.
    String machine(String host) {
        return find(host)
                .map(it -> it.agent.machine().id())
                .filter(it -> !it.isEmpty())
                .orElse(host);
    }

    /// How many GPUs a host has that is ready.
    int gpus(String host) {
        return find(host).map(it -> it.agent.machine().gpus()).orElse(0);
    }

    /// How many processors a host has that is ready.
    int processors(String host) {
        return find(host).map(it -> it.agent.machine().processors()).orElse(1);
    }

    boolean isRemote(String host) {
        return find(host).map(Ready::isRemote).orElse(false);
    }

    boolean anyRemote() {
        return ready.values().stream().anyMatch(Ready::isRemote);
    }

    /// How each remote host was reached.
    List<String> routes() {
        List<String> routes = new ArrayList<>();
        ready.forEach(
                (name, host) -> {
                    if (host.agent instanceof RemoteHost remote) {
                        routes.add("host %s is ready, by: %s".formatted(name, remote.route()));
                    }
                });
        return routes;
    }

    /// What each host runs for a command, for messages.
    List<String> commandLines(int command) {
        SequencedMap<String, String> hostsByProgram = new LinkedHashMap<>();
        ready.forEach(
                (name, host) ->
                        hostsByProgram.merge(
                                host.programs.get(command).toString(),
                                name,
                                (names, another) -> names + ", " + another));
        List<String> lines = new ArrayList<>();
        hostsByProgram.forEach(
                (program, names) ->
                        lines.add(
                                hostsByProgram.size() == 1
                                        ? "each rank runs: " + program
                                        : "each rank on %s runs: %s".formatted(names, program)));
        return lines;
    }

    /// Prepares the start of a command on this machine.
    ///
    /// @param ranks how many processes run it here
    /// @param interrupted when complete, this ends early
    void prepare(int command, int ranks, CompletionStage<?> interrupted) {
        localProgram(command).ifPresent(program -> program.prepare(ranks, interrupted));
    }

    /// To be called when a command has ended: its class archive may be written now.
    ///
    /// @param interrupted when complete, this ends early
    void ended(int command, boolean succeeded, CompletionStage<?> interrupted) {
        localProgram(command).ifPresent(program -> program.ended(succeeded, interrupted));
    }

    private synchronized Optional<Program> localProgram(int command) {
        return Optional.ofNullable(localPrograms).map(programs -> programs.get(command));
    }

    void signal(Signal signal) {
        agents().forEach(agent -> agent.signal(signal));
    }

    /// Ends what the job left behind, on all hosts at the same time. To be called once.
    ///
    /// @return what that was: "20310 sleep 1000", with its host if any is remote
    List<String> sweep() throws IOException, InterruptedException {
        return ParallelTasks.map(agents(), this::sweep).stream().flatMap(List::stream).toList();
    }

    private List<String> sweep(HostAgent agent) throws InterruptedException {
        List<String> left = agent.sweep();
        return anyRemote()
                ? left.stream().map(each -> "%s on %s".formatted(each, nameOf(agent))).toList()
                : left;
    }

    private String nameOf(HostAgent agent) {
        return ready.entrySet().stream()
                .filter(entry -> entry.getValue().agent.equals(agent))
                .map(Map.Entry::getKey)
                .reduce((one, other) -> one + ", " + other)
                .orElse("localhost");
    }

    private synchronized Set<HostAgent> agents() {
        Set<HostAgent> agents = new LinkedHashSet<>();
        if (localAgent != null) {
            agents.add(localAgent);
        }
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
            System.getLogger(Hosts.class.getName()).log(Level.DEBUG, "A host did not close", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}

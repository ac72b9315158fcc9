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
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// The hosts of a job, by name. All are made ready at once, before anything is started on any.
///
/// Names that mean this machine share one agent, which needs no ssh.
final class Hosts implements AutoCloseable {
    private final CompletionStage<?> givenUp;
    private final LauncherConsole launcherConsole;
    private final Map<String, HostAgent> agents = new LinkedHashMap<>();
    private final Set<String> remote = new LinkedHashSet<>();
    private final Map<String, List<Program>> programs = new LinkedHashMap<>();

    private Hosts(CompletionStage<?> givenUp, LauncherConsole launcherConsole) {
        this.givenUp = givenUp;
        this.launcherConsole = launcherConsole;
    }

    /// Makes the hosts ready for these commands.
    ///
    /// @param archives where archives of classes are kept on this machine, if they are
    /// @param givenUp when complete, whoever is not ready yet counts as not ready at once
    /// @param launcherConsole where it shows who is waited for
    /// @throws ConfigurationException when this machine itself is not
    /// @throws HostsNotReadyException when others are not
    static Hosts open(
            List<Host> hosts,
            RemoteHostSettings job,
            List<List<String>> commands,
            Optional<ClassArchives> archives,
            CompletionStage<?> givenUp,
            LauncherConsole launcherConsole)
            throws IOException, InterruptedException {
        CopySources.requireReadable(job.copies());
        Hosts opened = new Hosts(givenUp, launcherConsole);
        boolean ready = false;
        try {
            List<Boolean> local = ParallelTasks.map(hosts, host -> LocalHost.isNamed(host.name()));
            List<Host> remote = new ArrayList<>();
            for (int at = 0; at < hosts.size(); at++) {
                if (local.get(at)) {
                    opened.addLocal(hosts.get(at).name(), job.jobVariable(), commands, archives);
                } else {
                    remote.add(hosts.get(at));
                }
            }
            opened.addRemote(remote, job, commands);
            ready = true;
            return opened;
        } finally {
            if (!ready) {
                opened.close();
            }
        }
    }

    private void addLocal(
            String name, String mark, List<List<String>> commands, Optional<ClassArchives> archives)
            throws IOException {
        if (!agents.isEmpty()) {
            String known = agents.keySet().iterator().next();
            agents.put(name, agent(known));
            programs.put(name, programs.getOrDefault(known, List.of()));
            return;
        }
        HostAgent agent = LocalHost.open(mark);
        agents.put(name, agent);
        programs.put(
                name,
                programs(agent, commands).stream()
                        .map(program -> archives.map(each -> each.of(program)).orElse(program))
                        .toList());
    }

    private static List<Program> programs(HostAgent agent, List<List<String>> commands)
            throws IOException {
        List<Program> programs = new ArrayList<>();
        for (List<String> words : commands) {
            programs.add(agent.program(words));
        }
        return programs;
    }

    private void addRemote(List<Host> hosts, RemoteHostSettings job, List<List<String>> commands)
            throws IOException, InterruptedException {
        if (hosts.isEmpty()) {
            return;
        }
        List<Attempt> attempts = attempts(hosts, job, commands);
        for (Attempt attempt : attempts) {
            if (attempt.agent != null) {
                agents.put(attempt.host.name(), attempt.agent);
                remote.add(attempt.host.name());
                programs.put(attempt.host.name(), attempt.programs);
            }
        }
        List<String> complaints =
                attempts.stream()
                        .filter(attempt -> !attempt.complaint.isEmpty())
                        .map(
                                attempt ->
                                        "  %s: %s"
                                                .formatted(attempt.host.name(), attempt.complaint))
                        .toList();
        if (!complaints.isEmpty()) {
            throw new HostsNotReadyException(
                    "%d of %d hosts are not ready, so nothing was started:\n%s"
                            .formatted(
                                    complaints.size(),
                                    hosts.size() + agents.size() - remote.size(),
                                    String.join("\n", complaints)));
        }
    }

    /// A host with its agent, how it runs the commands, and a complaint if it is not ready.
    private record Attempt(
            Host host, @Nullable HostAgent agent, List<Program> programs, String complaint) {}

    private List<Attempt> attempts(
            List<Host> hosts, RemoteHostSettings job, List<List<String>> commands)
            throws IOException, InterruptedException {
        try (StartupProgress startupProgress =
                StartupProgress.showHosts(
                        launcherConsole, hosts.stream().map(Host::name).toList())) {
            return ParallelTasks.map(
                    hosts,
                    host -> {
                        Attempt attempt = attempt(host, job, commands);
                        startupProgress.joined(hosts.indexOf(host));
                        return attempt;
                    });
        }
    }

    private Attempt attempt(Host host, RemoteHostSettings job, List<List<String>> commands) {
        HostAgent agent = null;
        try {
            agent = RemoteHost.open(host, job, givenUp);
            return new Attempt(host, agent, programs(agent, commands), "");
        } catch (HostNotReadyException | IOException | ConfigurationException e) {
            return new Attempt(host, agent, List.of(), String.valueOf(e.getMessage()));
        }
    }

    HostAgent agent(String host) {
        HostAgent agent = agents.get(host);
        if (agent == null) {
            throw new IllegalArgumentException("no host " + host);
        }
        return agent;
    }

    Set<String> names() {
        return agents.keySet();
    }

    boolean isRemote(String host) {
        return remote.contains(host);
    }

    boolean anyRemote() {
        return !remote.isEmpty();
    }

    /// How each remote host was reached.
    List<String> routes() {
        List<String> routes = new ArrayList<>();
        for (String name : remote) {
            if (agents.get(name) instanceof RemoteHost host) {
                routes.add("host %s is ready, by: %s".formatted(name, host.route()));
            }
        }
        return routes;
    }

    /// How a host runs the command of that number.
    Program program(String host, int command) {
        return programs.getOrDefault(host, List.of()).get(command);
    }

    /// Tells how many ranks are to run the command of that number on this machine.
    ///
    /// @param interrupted when complete, nobody waits for them any more
    void prepare(int command, int ranks, CompletionStage<?> interrupted) {
        distinctPrograms(command).forEach(program -> program.prepare(ranks, interrupted));
    }

    /// Tells how the command of that number ended.
    ///
    /// @param interrupted when complete, the user wants this to end
    void ended(int command, boolean wentWell, CompletionStage<?> interrupted) {
        distinctPrograms(command).forEach(program -> program.ended(wentWell, interrupted));
    }

    private Stream<Program> distinctPrograms(int command) {
        return programs.values().stream().map(each -> each.get(command)).distinct();
    }

    void signal(Signal signal) {
        distinct().forEach(agent -> agent.signal(signal));
    }

    /// Ends what the job has left behind, on all hosts at once.
    ///
    /// @return what that was: "20310 sleep 1000", with its host where there are others
    List<String> sweep() throws IOException, InterruptedException {
        return ParallelTasks.map(distinct(), this::sweep).stream()
                .flatMap(List::stream)
                .collect(Collectors.toList());
    }

    private List<String> sweep(HostAgent agent) throws InterruptedException {
        List<String> left = agent.sweep();
        return anyRemote()
                ? left.stream().map(each -> "%s on %s".formatted(each, nameOf(agent))).toList()
                : left;
    }

    private String nameOf(HostAgent agent) {
        return agents.entrySet().stream()
                .filter(entry -> entry.getValue().equals(agent))
                .map(Map.Entry::getKey)
                .collect(Collectors.joining(", "));
    }

    private Set<HostAgent> distinct() {
        return new LinkedHashSet<>(agents.values());
    }

    @Override
    public void close() {
        if (agents.isEmpty()) {
            return;
        }
        try {
            ParallelTasks.map(
                    distinct(),
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

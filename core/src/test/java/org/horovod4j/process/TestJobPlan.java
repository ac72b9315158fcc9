package org.horovod4j.process;

import org.horovod4j.option.Option;
import org.horovod4j.option.Options;
import org.horovod4j.option.RendezvousHost;
import org.horovod4j.testsupport.SimulatedHost;
import org.horovod4j.testsupport.TestJvm;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/// A job to be started: a program, how many ranks, and what each of them is told.
///
/// Unless [#servedBy] says otherwise the test serves the rendezvous, as a launcher would.
final class TestJobPlan {
    /// The host that ranks name when a test does not give them another.
    static final String HOST = "alpha";

    /// The names of pretended hosts.
    private static final List<String> HOSTS = List.of(HOST, "beta");

    private final int size;
    private final Class<?> program;
    private final List<String> arguments;
    private final Map<String, String> variables = new HashMap<>();
    private final Map<Integer, Map<String, String>> ownVariables = new HashMap<>();
    private final Map<Integer, List<String>> prefixes = new HashMap<>();
    private RendezvousHost server = RendezvousHost.LAUNCHER;

    private TestJobPlan(int size, Class<?> program, List<String> arguments) {
        this.size = size;
        this.program = program;
        this.arguments = arguments;
        with(Options.HOSTNAME, HOST);
        with(Options.START_TIMEOUT, "60"); // sixteen JVMs on two busy cores take their time
    }

    /// @param program has a `main`, which all ranks run with these arguments
    static TestJobPlan of(int size, Class<?> program, String... arguments) {
        return new TestJobPlan(size, program, List.of(arguments));
    }

    TestJobPlan servedBy(RendezvousHost host) {
        server = host;
        return this;
    }

    /// Sets an option of all ranks.
    TestJobPlan with(Option<?> option, String value) {
        variables.put(option.variable(), value);
        return this;
    }

    /// Sets an option of one rank.
    TestJobPlan with(int rank, Option<?> option, String value) {
        ownVariables.computeIfAbsent(rank, _ -> new HashMap<>()).put(option.variable(), value);
        return this;
    }

    /// Gives the JVM of one rank an option.
    TestJobPlan withJvmOption(int rank, String option) {
        ownVariables.computeIfAbsent(rank, _ -> new HashMap<>()).put("JAVA_TOOL_OPTIONS", option);
        return this;
    }

    /// Starts a rank by way of another command, such as one that enters a namespace.
    TestJobPlan withCommandPrefix(int rank, String... prefix) {
        prefixes.put(rank, List.of(prefix));
        return this;
    }

    /// Shares the ranks out to hosts: the first ones to the first host, and so on.
    TestJobPlan onHosts(SimulatedHost... hosts) {
        for (int rank = 0; rank < size; rank++) {
            int host = rank * hosts.length / size;
            withCommandPrefix(rank, hosts[host].commandPrefix());
            with(rank, Options.HOSTNAME, HOSTS.get(host));
        }
        return this;
    }

    /// Starts all ranks.
    TestJob start() throws IOException {
        TestJob testJob = prepare();
        for (int rank = 0; rank < size; rank++) {
            testJob.start(rank);
        }
        return testJob;
    }

    /// A job whose ranks are yet to be started, each by [TestJob#start].
    TestJob prepare() throws IOException {
        return new TestJob(this);
    }

    int size() {
        return size;
    }

    RendezvousHost server() {
        return server;
    }

    Map<String, String> variables() {
        return Map.copyOf(variables);
    }

    Map<String, String> variablesOf(int rank) {
        Map<String, String> all = new HashMap<>(variables);
        all.putAll(ownVariables.getOrDefault(rank, Map.of()));
        return all;
    }

    List<String> commandOf(int rank) {
        return command(prefixes.getOrDefault(rank, List.of()), program, arguments);
    }

    /// The command of a rank. Sixteen of them share a small machine, so each gets little memory and
    /// one thread for garbage collection.
    ///
    /// @param prefix a command that runs the command that follows its own arguments
    static List<String> command(List<String> prefix, Class<?> program, List<String> arguments) {
        return TestJvm.of(program, arguments.toArray(String[]::new))
                .withVectors()
                .with("-XX:+UseSerialGC", "-Xmx256m", "-XX:-UsePerfData")
                .words(prefix);
    }
}

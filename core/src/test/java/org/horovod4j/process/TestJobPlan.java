package org.horovod4j.process;

import org.horovod4j.option.Option;
import org.horovod4j.option.Options;
import org.horovod4j.option.RendezvousHost;
import org.horovod4j.testsupport.SimulatedHost;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/// A job to start: a program, the number of ranks, and their options.
///
/// Unless [#servedBy] says otherwise, the test runs the rendezvous server, as a launcher does.
final class TestJobPlan {
    /// The host name of all ranks unless a test sets another.
    static final String HOST = "alpha";

    /// The names of simulated hosts.
    private static final List<String> HOSTS = List.of(HOST, "beta");

    private final int size;
    private final Class<?> program;
    private final List<String> arguments;
    private final Map<String, String> variables = new HashMap<>();
    private final Map<Integer, Map<String, String>> ownVariables = new HashMap<>();
    private final Map<Integer, List<String>> prefixes = new HashMap<>();
    private RendezvousHost server = RendezvousHost.LAUNCHER;
    private boolean compiledFully;

    private TestJobPlan(int size, Class<?> program, List<String> arguments) {
        this.size = size;
        this.program = program;
        this.arguments = arguments;
        with(Options.HOSTNAME, HOST);
        with(Options.KERNELS, "scalar");
        with(Options.START_TIMEOUT, "60"); // sixteen JVMs on two busy cores take their time
    }

    /// @param program its `main` runs on all ranks with these arguments
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

    /// Compiles as a training program does, with vectors. Without this a rank uses the compiler
    /// that starts fastest and the plain kernels: most tests end before more would help.
    TestJobPlan compiledFully() {
        compiledFully = true;
        variables.remove(Options.KERNELS.variable());
        return this;
    }

    /// Starts a rank through another command, such as one that enters a namespace.
    TestJobPlan withCommandPrefix(int rank, String... prefix) {
        prefixes.put(rank, List.of(prefix));
        return this;
    }

    /// Distributes the ranks over hosts: the first ones to the first host, and so on.
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

    /// A job without ranks. [TestJob#start] starts each of them.
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
        List<String> prefix = prefixes.getOrDefault(rank, List.of());
        return compiledFully
                ? TestRankCommand.compiledFully(prefix, program, arguments)
                : TestRankCommand.of(prefix, program, arguments);
    }
}

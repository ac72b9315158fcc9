package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.horovod4j.option.Environment;
import org.horovod4j.option.Option;
import org.horovod4j.option.Options;
import org.horovod4j.option.RendezvousHost;
import org.horovod4j.rendezvous.RendezvousServer;
import org.horovod4j.security.Protection;
import org.horovod4j.security.Secret;
import org.horovod4j.testsupport.FreePort;
import org.horovod4j.testsupport.Processes;
import org.horovod4j.testsupport.SharedMemoryFiles;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/// The ranks of one job, one process each.
///
/// [#close] ends all processes, and fails the test if a process or a shared-memory file remains.
final class TestJob implements AutoCloseable {
    /// Generous, for a busy machine: only something that hangs takes this long.
    static final Duration TIMEOUT = Duration.ofMinutes(2);

    private final TestJobPlan plan;
    private final String id = "it-" + UUID.randomUUID();
    private final Secret secret;
    private final SharedMemoryFiles files = SharedMemoryFiles.snapshot();
    private final @Nullable RendezvousServer server;
    private final int port;
    private final SortedMap<Integer, TestRankProcess> ranks = new TreeMap<>();

    TestJob(TestJobPlan plan) throws IOException {
        this.plan = plan;
        this.secret = Secret.random().withProtection(Protection.of(option(Options.TLS)));
        this.server = plan.server() == RendezvousHost.LAUNCHER ? serve() : null;
        this.port = server == null ? FreePort.choose() : server.address().getPort();
    }

    /// Starts a rank that was not started with the others.
    TestRankProcess start(int rank) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(plan.commandOf(rank));
        builder.environment().keySet().removeIf(name -> name.startsWith("HOROVOD_"));
        builder.environment().putAll(variables(rank));
        TestRankProcess process = new TestRankProcess(rank, builder);
        ranks.put(rank, process);
        if (server != null) {
            process.onExit(how -> server.reportExit(rank, how));
        }
        return process;
    }

    TestRankProcess rank(int rank) {
        TestRankProcess process = ranks.get(rank);
        if (process == null) {
            throw new IllegalArgumentException("rank " + rank + " was not started");
        }
        return process;
    }

    /// All started ranks except the given one.
    List<TestRankProcess> othersThan(int rank) {
        return ranks.values().stream().filter(each -> each.rank() != rank).toList();
    }

    Collection<TestRankProcess> ranks() {
        return ranks.values();
    }

    /// The port of the rendezvous server.
    int rendezvousPort() {
        return port;
    }

    /// Waits until every started rank has printed a line that starts like this.
    void awaitLine(String beginning) {
        ranks.values().forEach(rank -> rank.awaitLine(beginning));
    }

    /// Waits until all ranks have exited, and checks that all of them succeeded.
    void awaitSuccess() {
        awaitExits(ranks.values(), TIMEOUT);
        assertThat(ranks.values())
                .as(this::output)
                .allSatisfy(rank -> assertThat(rank.exitCode()).isZero());
    }

    /// Waits until these ranks have exited with any exit code.
    ///
    /// @return how long that took
    Duration awaitExits(Collection<TestRankProcess> some, Duration limit) {
        long start = System.nanoTime();
        CompletableFuture<?> exits =
                CompletableFuture.allOf(
                        some.stream().map(TestRankProcess::exit).toArray(CompletableFuture[]::new));
        var _ =
                exits.copy()
                        .completeOnTimeout(null, limit.toMillis(), TimeUnit.MILLISECONDS)
                        .join();
        Duration took = Duration.ofNanos(System.nanoTime() - start);
        assertThat(some.stream().filter(TestRankProcess::isAlive).map(TestRankProcess::rank))
                .as(() -> "ranks that still run after " + limit.toSeconds() + " s\n" + output())
                .isEmpty();
        return took;
    }

    /// The output of all ranks, for failure messages.
    String output() {
        return ranks.values().stream()
                .map(rank -> "--- rank %d\n%s".formatted(rank.rank(), rank.output()))
                .collect(Collectors.joining("\n"));
    }

    @Override
    public void close() {
        ranks.values().forEach(TestRankProcess::destroy);
        if (server != null) {
            server.close();
        }
        await().atMost(TIMEOUT)
                .untilAsserted(
                        () -> {
                            assertThat(Processes.withVariable(environmentMark())).isEmpty();
                            assertThat(files.added()).as("shared files left behind").isEmpty();
                        });
    }

    private String environmentMark() {
        return Options.JOB_ID.variable() + "=" + id;
    }

    private Map<String, String> variables(int rank) {
        Map<String, String> all = new HashMap<>();
        all.put(Options.RANK.variable(), Integer.toString(rank));
        all.put(Options.SIZE.variable(), Integer.toString(plan.size()));
        all.put(Options.RENDEZVOUS_ADDR.variable(), "127.0.0.1");
        all.put(Options.RENDEZVOUS_PORT.variable(), Integer.toString(port));
        all.put(
                Options.RENDEZVOUS_SERVER.variable(),
                Options.RENDEZVOUS_SERVER.format(plan.server()));
        all.put(Options.SECRET_KEY.variable(), secret.encode());
        all.put(Options.JOB_ID.variable(), id);
        all.putAll(plan.variablesOf(rank));
        return all;
    }

    private RendezvousServer serve() {
        return RendezvousServer.start(
                secret,
                plan.size(),
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                option(Options.HEARTBEAT_TIMEOUT),
                option(Options.START_TIMEOUT));
    }

    private <T extends Comparable<T>> T option(Option<T> option) {
        return new Environment(plan.variables()).get(option);
    }
}

package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.SequencedMap;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/// Injects a fault into a training every few seconds, for `-Dhorovod4j.chaos.seconds` (default
/// 1200): workers are killed, stopped and throw, hosts come and go, the script fails. The training
/// must lose nothing, and end with the same loss as one without faults.
///
/// `-Dhorovod4j.chaos.seed` repeats the faults of an earlier run, which printed its seed. Timing
/// still differs.
@Tag("slow")
class ElasticChaosIT {
    private static final List<String> HOSTS = List.of("localhost", "127.0.0.1", "127.0.0.2");
    private static final Map<String, Integer> FOUR_SLOTS = Map.of("localhost", 2, "127.0.0.1", 2);

    private final long seed = Long.getLong("horovod4j.chaos.seed", new Random().nextLong());
    private final Duration length =
            Duration.ofSeconds(Long.getLong("horovod4j.chaos.seconds", 1200));
    private final Random random = new Random(seed);
    private final FaultTargets faultTargets = new FaultTargets(random);
    private final CountDownLatch never = new CountDownLatch(1);
    private final List<String> faults = new ArrayList<>();
    @TempDir Path folder;

    @Test
    void trainingSurvivesRandomFaults() throws Exception {
        IO.println("chaos: seed %d, %d s".formatted(seed, length.toSeconds()));
        setHosts(FOUR_SLOTS);
        try (ElasticRun run = start()) {
            run.awaitStep(1, 4);
            long deadline = System.nanoTime() + length.toNanos();
            while (System.nanoTime() < deadline) {
                injectFault(run);
                assertThat(never.await(500 + random.nextInt(3000), TimeUnit.MILLISECONDS))
                        .isFalse();
                assertThat(run.launcher().ending()).as(() -> faultLog(run)).isEmpty();
            }
            awaitStable(run);
            ElasticTrainer.Result result = run.finish(4);
            IO.println(
                    "chaos: %d disturbances, %d workers, %d generations"
                            .formatted(faults.size(), run.pids().size(), run.generations()));
            IO.println(
                    "chaos: loss %.9f after %d epochs, and %.9f without a fault"
                            .formatted(
                                    result.loss(),
                                    result.epochs(),
                                    ElasticTrainer.trainWithoutFaults(result.epochs()).loss()));
        }
    }

    private ElasticRun start() throws IOException {
        Path end = folder.resolve("end");
        return ElasticRun.start(
                Map.of("HOROVOD_HEARTBEAT_TIMEOUT", "5"),
                new FileSignals(end),
                ElasticRun.launcherArguments(
                        "-np 2 --min-np 1 --max-np 4 --blacklist-cooldown-range 1 3"
                                + " --host-discovery-script "
                                + script(),
                        end + " 20"));
    }

    /// Waits until four workers on two hosts make steps. Before that the job may still use an older
    /// list of hosts, or wait for a stopped worker.
    private void awaitStable(ElasticRun run) throws IOException {
        setHosts(FOUR_SLOTS);
        await().pollDelay(Duration.ofSeconds(3))
                .atMost(ElasticRun.TIMEOUT)
                .until(() -> hostsOfLastWorkers(4, run).equals(FOUR_SLOTS));
        run.awaitStep(run.generationStarts().getLast().step() + 50, 4);
    }

    /// How many of the workers that began a generation last are on each host.
    private static Map<String, Integer> hostsOfLastWorkers(int count, ElasticRun run) {
        List<ElasticRun.GenerationStart> all = run.generationStarts();
        return all.subList(Math.max(0, all.size() - count), all.size()).stream()
                .filter(generationStart -> generationStart.size() == count)
                .collect(Collectors.toMap(ElasticRun.GenerationStart::host, _ -> 1, Integer::sum));
    }

    private void injectFault(ElasticRun run) throws IOException, InterruptedException {
        switch (random.nextInt(11)) {
            case 0, 1, 2, 3 -> signal("KILL", 1, run);
            case 4 -> signal("KILL", 2, run);
            case 5 -> signal("STOP", 1, run);
            case 6, 7 -> setHosts(hosts());
            case 8 -> print("no host at all, sorry");
            case 9 -> print("");
            case 10 -> fail(run);
            default -> throw new IllegalStateException();
        }
    }

    /// Signals random workers, also new ones.
    private void signal(String name, int count, ElasticRun run)
            throws IOException, InterruptedException {
        List<Integer> victims = faultTargets.victims(run).stream().limit(count).toList();
        if (name.equals("STOP")) {
            victims.forEach(faultTargets::workerStopped);
        }
        if (!victims.isEmpty()) {
            faults.add("%s %s".formatted(name, victims));
            run.signal(name, victims.toArray(Integer[]::new));
        }
    }

    /// Makes the program of a worker throw in its next step.
    private void fail(ElasticRun run) {
        faultTargets.victims(run).stream()
                .limit(1)
                .forEach(
                        victim -> {
                            faults.add("throw in worker %d".formatted(victim));
                            faultTargets.workerStopped(victim); // it fails within one step
                            run.signals().requestFailure(victim);
                        });
    }

    private SequencedMap<String, Integer> hosts() {
        SequencedMap<String, Integer> hosts = new TreeMap<>();
        for (String name : HOSTS) {
            if (random.nextInt(4) > 0) {
                hosts.put(name, random.nextInt(3) > 0 ? FaultTargets.ALL_SLOTS : 1);
            }
        }
        return hosts.isEmpty() ? new TreeMap<>(FOUR_SLOTS) : hosts;
    }

    private Path script() throws IOException {
        Path script = folder.resolve("script.sh");
        Files.writeString(script, "#!/bin/sh\ncat %s\n".formatted(folder.resolve("hosts")));
        assertThat(script.toFile().setExecutable(true)).isTrue();
        return script;
    }

    private void setHosts(Map<String, Integer> hosts) throws IOException {
        faultTargets.hostsListed(hosts);
        print(
                hosts.entrySet().stream()
                        .map(it -> it.getKey() + ":" + it.getValue())
                        .collect(Collectors.joining("\n")));
    }

    /// Makes the script print this from now on.
    private void print(String text) throws IOException {
        faults.add("the script prints '%s'".formatted(text.replace('\n', ' ')));
        Path next = Files.writeString(folder.resolve("next"), text + "\n");
        Files.move(next, folder.resolve("hosts"), StandardCopyOption.ATOMIC_MOVE);
    }

    private String faultLog(ElasticRun run) {
        return "seed %d\n%s\n%s".formatted(seed, String.join("\n", faults), run.tail());
    }
}

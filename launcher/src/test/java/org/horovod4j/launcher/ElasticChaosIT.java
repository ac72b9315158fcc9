package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/// A training that is disturbed every few seconds, for `-Dhorovod4j.chaos.seconds` (default 60): workers are
/// killed and stopped at any moment, hosts come and go, the script fails. It must lose nothing.
///
/// `-Dhorovod4j.chaos.seed` repeats the disturbances of another run, which printed its seed, as far as
/// processes let themselves be repeated.
@Tag("slow")
class ElasticChaosIT {
    private static final List<String> HOSTS = List.of("localhost", "127.0.0.1", "127.0.0.2");

    private final long seed = Long.getLong("horovod4j.chaos.seed", new Random().nextLong());
    private final Duration length = Duration.ofSeconds(Long.getLong("horovod4j.chaos.seconds", 60));
    private final Random random = new Random(seed);
    private final CountDownLatch never = new CountDownLatch(1);
    private final List<String> disturbances = new ArrayList<>();
    @TempDir Path folder;

    @Test
    void nothingIsLostWhateverHappens() throws Exception {
        IO.println("chaos: seed %d, %d s".formatted(seed, length.toSeconds()));
        Path end = folder.resolve("end");
        list("localhost:2", "127.0.0.1:2");
        try (ElasticRun run =
                ElasticRun.start(
                        Map.of("HOROVOD_HEARTBEAT_TIMEOUT", "5"),
                        "-np 2 --min-np 1 --max-np 4 --blacklist-cooldown-range 1 3"
                                + " --host-discovery-script "
                                + script(),
                        end + " 20")) {
            run.awaitStep(1, 4);
            long deadline = System.nanoTime() + length.toNanos();
            while (System.nanoTime() < deadline) {
                disturb(run);
                assertThat(never.await(500 + random.nextInt(3000), TimeUnit.MILLISECONDS))
                        .isFalse();
                assertThat(run.launcher().isAlive()).as(() -> story(run)).isTrue();
            }
            list("localhost:2", "127.0.0.1:2");
            int last = run.beginnings().getLast().step();
            run.awaitStep(last + 50, 4);
            Files.createFile(end);
            assertThat(run.launcher().exitCode(Duration.ofSeconds(90)))
                    .as(() -> story(run))
                    .isZero();
            run.assertSameResults(run.beginnings().getLast().size());
            run.assertNothingLeft();
            IO.println(
                    "chaos: %d disturbances, %d generations"
                            .formatted(disturbances.size(), run.generations()));
        }
    }

    private void disturb(ElasticRun run) throws IOException, InterruptedException {
        switch (random.nextInt(10)) {
            case 0, 1, 2, 3 -> signal("KILL", 1, run);
            case 4 -> signal("KILL", 2, run);
            case 5 -> signal("STOP", 1, run);
            case 6, 7 -> list(hosts());
            case 8 -> list("no host at all, sorry");
            case 9 -> list();
            default -> throw new IllegalStateException();
        }
    }

    /// Hits workers of the job at random, new ones too, but leaves two that have the state.
    private void signal(String name, int count, ElasticRun run)
            throws IOException, InterruptedException {
        List<Long> served =
                run.beginnings().stream()
                        .map(ElasticRun.Beginning::pid)
                        .distinct()
                        .filter(pid -> ProcessHandle.of(pid).isPresent())
                        .collect(Collectors.toCollection(ArrayList::new));
        Collections.shuffle(served, random);
        List<Long> spared = served.subList(0, Math.min(2, served.size()));
        List<Long> victims =
                new ArrayList<>(
                        run.pids().stream()
                                .filter(pid -> ProcessHandle.of(pid).isPresent())
                                .filter(pid -> spared.size() == 2 && !spared.contains(pid))
                                .toList());
        Collections.shuffle(victims, random);
        for (long victim : victims.subList(0, Math.min(count, victims.size()))) {
            disturbances.add("%s %d".formatted(name, victim));
            Processes.signal(name, victim);
        }
    }

    private String[] hosts() {
        List<String> hosts = new ArrayList<>();
        for (String name : HOSTS) {
            if (random.nextInt(3) > 0) {
                hosts.add("%s:%d".formatted(name, 1 + random.nextInt(2)));
            }
        }
        return hosts.isEmpty() ? new String[] {"localhost:2"} : hosts.toArray(String[]::new);
    }

    private Path script() throws IOException {
        Path script = folder.resolve("script.sh");
        Files.writeString(script, "#!/bin/sh\ncat %s\n".formatted(folder.resolve("hosts")));
        assertThat(script.toFile().setExecutable(true)).isTrue();
        return script;
    }

    private void list(String... hosts) throws IOException {
        disturbances.add("hosts " + List.of(hosts));
        Path next = Files.writeString(folder.resolve("next"), String.join("\n", hosts) + "\n");
        Files.move(next, folder.resolve("hosts"), StandardCopyOption.ATOMIC_MOVE);
    }

    private String story(ElasticRun run) {
        return "seed %d\n%s\n%s".formatted(seed, String.join("\n", disturbances), run.tail());
    }
}

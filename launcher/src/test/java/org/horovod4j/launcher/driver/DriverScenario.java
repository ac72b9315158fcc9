package org.horovod4j.launcher.driver;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.launcher.plan.Host;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/// Base class for tests that send events to an elastic driver.
abstract class DriverScenario {
    static final Duration TIMEOUT = Duration.ofSeconds(60);

    final List<DriverAction> actions = new ArrayList<>();
    ElasticDriver elasticDriver = driver(4, 2, 4, ElasticLimits.UNLIMITED);
    Duration now = Duration.ZERO;

    static ElasticDriver driver(int first, int least, int most, int resets) {
        return new ElasticDriver(
                new ElasticLimits(first, least, most, resets),
                TIMEOUT,
                new Cooldown(Duration.ofSeconds(10), Duration.ofSeconds(100)));
    }

    /// Four workers on one host, in their first generation.
    void startFourWorkers() {
        discoverHosts(new Host("a", 4));
        workerReady(0, -1, 1, 2, 3);
        assertThat(lastGeneration()).isEqualTo("0: [0, 1, 2, 3] sync");
    }

    void discoverHosts(Host... hosts) {
        handle(new DriverEvent.HostsDiscovered(List.of(hosts)));
    }

    void workerReady(int worker, int generation, int... others) {
        workerReady(worker, generation, "", others);
    }

    void workerReady(int worker, int generation, String why, int... others) {
        handle(new DriverEvent.WorkerReady(worker, generation, why));
        IntStream.of(others)
                .forEach(each -> handle(new DriverEvent.WorkerReady(each, generation, why)));
    }

    void workerFails(int worker) {
        handle(new DriverEvent.WorkerExited(worker, true, "killed"));
    }

    void advanceTime(Duration time) {
        now = now.plus(time);
        handle(new DriverEvent.TimePassed());
    }

    /// Handles an event. Hosts open at once.
    void handle(DriverEvent driverEvent) {
        List<DriverAction> decided = elasticDriver.handle(driverEvent, now);
        actions.addAll(decided);
        if (driverEvent instanceof DriverEvent.HostOpened) {
            return;
        }
        for (DriverAction driverAction : decided) {
            if (driverAction instanceof DriverAction.OpenHost(Host host)
                    && !host.name().equals("refusing")) {
                handle(new DriverEvent.HostOpened(host.name()));
            }
        }
    }

    List<String> generations() {
        return actions.stream()
                .filter(DriverAction.StartGeneration.class::isInstance)
                .map(DriverAction.StartGeneration.class::cast)
                .map(
                        startGeneration ->
                                "%d: %s%s"
                                        .formatted(
                                                startGeneration.generation(),
                                                startGeneration.slots().keySet().stream()
                                                        .map(Worker::number)
                                                        .toList(),
                                                startGeneration.sync() ? " sync" : ""))
                .toList();
    }

    String lastGeneration() {
        return generations().getLast();
    }

    List<Worker> startedWorkers() {
        return actions.stream()
                .filter(DriverAction.StartWorker.class::isInstance)
                .map(driverAction -> ((DriverAction.StartWorker) driverAction).worker())
                .toList();
    }

    long resetRequests() {
        return actions.stream().filter(DriverAction.RequestReset.class::isInstance).count();
    }

    List<Integer> dismissedWorkers() {
        return actions.stream()
                .filter(DriverAction.DismissWorker.class::isInstance)
                .map(driverAction -> ((DriverAction.DismissWorker) driverAction).worker().number())
                .toList();
    }

    List<Integer> killedWorkers() {
        return actions.stream()
                .filter(DriverAction.KillWorker.class::isInstance)
                .map(driverAction -> ((DriverAction.KillWorker) driverAction).worker().number())
                .toList();
    }

    List<String> abortReasons() {
        return actions.stream()
                .filter(DriverAction.AbortJob.class::isInstance)
                .map(driverAction -> ((DriverAction.AbortJob) driverAction).reason())
                .toList();
    }

    List<String> infoMessages() {
        return actions.stream()
                .filter(DriverAction.Info.class::isInstance)
                .map(driverAction -> ((DriverAction.Info) driverAction).text())
                .toList();
    }
}

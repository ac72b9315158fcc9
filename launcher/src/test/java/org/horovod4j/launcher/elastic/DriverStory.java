package org.horovod4j.launcher.elastic;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.launcher.plan.Host;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/// The course of a job, told to a driver event by event.
abstract class DriverStory {
    static final Duration PATIENCE = Duration.ofSeconds(60);

    final List<Action> actions = new ArrayList<>();
    Driver driver = driver(4, 2, 4, Limits.NONE);
    Duration now = Duration.ZERO;

    static Driver driver(int first, int least, int most, int resets) {
        return new Driver(
                new Limits(first, least, most, resets),
                PATIENCE,
                new Cooldown(Duration.ofSeconds(10), Duration.ofSeconds(100)));
    }

    /// Four workers on one host, in their first generation.
    void run() {
        list(new Host("a", 4));
        ready(0, -1, 1, 2, 3);
        assertThat(form()).isEqualTo("0: [0, 1, 2, 3] sync");
    }

    void list(Host... hosts) {
        act(new Event.Listed(List.of(hosts)));
    }

    void ready(int worker, int generation, int... others) {
        ready(worker, generation, "", others);
    }

    void ready(int worker, int generation, String why, int... others) {
        act(new Event.Ready(worker, generation, why));
        IntStream.of(others).forEach(each -> act(new Event.Ready(each, generation, why)));
    }

    void fail(int worker) {
        act(new Event.Ended(worker, true, "killed"));
    }

    void pass(Duration time) {
        now = now.plus(time);
        act(new Event.Passed());
    }

    /// Hosts open as soon as they are asked to.
    void act(Event event) {
        List<Action> decided = driver.on(event, now);
        actions.addAll(decided);
        if (event instanceof Event.HostOpened) {
            return;
        }
        for (Action action : decided) {
            if (action instanceof Action.Open(Host host) && !host.name().equals("refusing")) {
                act(new Event.HostOpened(host.name()));
            }
        }
    }

    List<String> forms() {
        return actions.stream()
                .filter(Action.Form.class::isInstance)
                .map(Action.Form.class::cast)
                .map(
                        form ->
                                "%d: %s%s"
                                        .formatted(
                                                form.generation(),
                                                form.places().keySet().stream()
                                                        .map(Worker::number)
                                                        .toList(),
                                                form.sync() ? " sync" : ""))
                .toList();
    }

    String form() {
        return forms().getLast();
    }

    List<Worker> starts() {
        return actions.stream()
                .filter(Action.Start.class::isInstance)
                .map(action -> ((Action.Start) action).worker())
                .toList();
    }

    long callBacks() {
        return actions.stream().filter(Action.CallBack.class::isInstance).count();
    }

    List<Integer> dismissed() {
        return actions.stream()
                .filter(Action.Dismiss.class::isInstance)
                .map(action -> ((Action.Dismiss) action).worker().number())
                .toList();
    }

    List<Integer> kills() {
        return actions.stream()
                .filter(Action.Kill.class::isInstance)
                .map(action -> ((Action.Kill) action).worker().number())
                .toList();
    }

    List<String> givenUp() {
        return actions.stream()
                .filter(Action.GiveUp.class::isInstance)
                .map(action -> ((Action.GiveUp) action).reason())
                .toList();
    }

    List<String> said() {
        return actions.stream()
                .filter(Action.Say.class::isInstance)
                .map(action -> ((Action.Say) action).text())
                .toList();
    }
}

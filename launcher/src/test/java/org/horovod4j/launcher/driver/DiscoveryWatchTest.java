package org.horovod4j.launcher.driver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import org.horovod4j.launcher.plan.Host;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

class DiscoveryWatchTest {
    private static final List<Host> ONE = List.of(new Host("a", 1));
    private static final List<Host> TWO = List.of(new Host("a", 1), new Host("b", 1));

    private static final CompletionStage<Void> NEVER = new CompletableFuture<Void>();

    private final List<List<Host>> found = new CopyOnWriteArrayList<>();
    private final List<String> messages = new CopyOnWriteArrayList<>();
    private final AtomicInteger calls = new AtomicInteger();

    private DiscoveryWatch watch(DiscoveryWatch.Discovery discovery) {
        return new DiscoveryWatch(discovery, Duration.ofMillis(1), found::add, messages::add);
    }

    @Test
    void firstFailureIsThrown() {
        try (DiscoveryWatch watch =
                watch(
                        () -> {
                            throw new DiscoveryException("no such script");
                        })) {
            assertThatThrownBy(() -> watch.start(NEVER)).hasMessage("no such script");
        }
        assertThat(messages).isEmpty();
    }

    @Test
    void laterFailuresAndTheirEndAreReportedOnceAndKeepHosts() throws Exception {
        try (DiscoveryWatch watch =
                watch(
                        () -> {
                            int call = calls.incrementAndGet();
                            if (call > 1 && call < 50 && call % 2 == 0) {
                                throw new DiscoveryException("failure " + call);
                            }
                            return call < 50 ? ONE : TWO;
                        })) {
            watch.start(NEVER);
            await().until(() -> found.size() == 2);
        }
        assertThat(found).containsExactly(ONE, TWO);
        assertThat(messages)
                .containsExactly(
                        "host discovery failed, the hosts stay as they are: failure 2",
                        "host discovery works again");
    }

    @Test
    void failureDuringReportIntervalIsReportedAfterIt() throws Exception {
        DiscoveryWatch.Discovery discovery =
                () -> {
                    int call = calls.incrementAndGet();
                    if (call == 2 || call > 3) {
                        throw new DiscoveryException("failure");
                    }
                    return ONE;
                };
        try (DiscoveryWatch watch =
                new DiscoveryWatch(
                        discovery,
                        Duration.ofMillis(1),
                        Duration.ofMillis(500),
                        found::add,
                        messages::add)) {
            watch.start(NEVER);
            await().until(() -> messages.size() == 3);
        }
    }

    @Test
    void cancellationEndsWaitForFirstPoll() throws Exception {
        CompletableFuture<Void> givenUp = new CompletableFuture<>();
        try (DiscoveryWatch watch =
                watch(
                        () -> {
                            givenUp.complete(null);
                            new CountDownLatch(1).await();
                            return ONE;
                        })) {
            watch.start(givenUp);
        }
        assertThat(found).isEmpty();
    }

    @Test
    void emptyFirstResultIsReported() throws Exception {
        try (DiscoveryWatch watch = watch(List::of)) {
            watch.start(NEVER);
        }
        assertThat(found).containsExactly(List.of());
    }

    @Test
    void unchangedHostsAreNotReportedAgain() throws Exception {
        try (DiscoveryWatch watch =
                watch(
                        () -> {
                            calls.incrementAndGet();
                            return ONE;
                        })) {
            watch.start(NEVER);
            await().until(() -> calls.get() > 20);
        }
        assertThat(found).containsExactly(ONE);
    }

    @Test
    void closeInterruptsHangingDiscovery() throws Exception {
        CountDownLatch hanging = new CountDownLatch(1);
        try (DiscoveryWatch watch =
                watch(
                        () -> {
                            if (calls.incrementAndGet() > 1) {
                                hanging.countDown();
                                new CountDownLatch(1).await();
                            }
                            return ONE;
                        })) {
            watch.start(NEVER);
            hanging.await();
        }
        assertThat(found).containsExactly(ONE);
    }
}

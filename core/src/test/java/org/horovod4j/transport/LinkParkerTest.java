package org.horovod4j.transport;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.transport.ChannelLink.Pair;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;

/// A sleep that nothing ends lasts longer than the test may.
class LinkParkerTest {
    private static final long FOREVER = Duration.ofDays(1).toNanos();
    private static final long SHORT = Duration.ofMillis(1).toNanos();

    private final LinkParker parker = new LinkParker();
    private final ExecutorService threads = Executors.newFixedThreadPool(1);
    private Pair one;
    private Pair other;

    /// What the thread waits for.
    private Consumer<LinkParker> awaited = _ -> {};

    @BeforeEach
    void open() throws IOException {
        one = ChannelLink.pair();
        other = ChannelLink.pair();
        parker.add(each -> awaited.accept(each));
    }

    @AfterEach
    void close() {
        one.close();
        other.close();
        parker.close();
        threads.close();
    }

    private boolean park(long nanos) {
        assertThat(parker.canPark()).isTrue();
        return parker.park(nanos);
    }

    @Test
    void bytesEndTheSleep() throws Exception {
        awaited = each -> each.wakeOnReadable(one.first());
        Future<Boolean> ready = threads.submit(() -> park(FOREVER));
        one.send(1);
        assertThat(ready.get()).isTrue();
    }

    @Test
    void roomEndsTheSleep() throws Exception {
        long sent = one.fill();
        awaited = each -> each.wakeOnWritable(one.second());
        Future<Boolean> ready = threads.submit(() -> park(FOREVER));
        ByteBuffer received = ByteBuffer.allocate(1 << 16);
        for (long rest = sent; rest > 0; received.clear()) {
            rest -= one.first().channel().read(received);
        }
        assertThat(ready.get()).isTrue();
    }

    @Test
    void sleepIsLimited() {
        awaited = each -> each.wakeOnReadable(one.first());
        assertThat(park(SHORT)).isFalse();
    }

    /// Bytes for a later step must not keep the thread awake.
    @Test
    void linkThatIsNoLongerAwaitedDoesNotEndTheSleep() throws Exception {
        awaited = each -> each.wakeOnReadable(one.first());
        one.send(1);
        assertThat(park(FOREVER)).isTrue();
        awaited = each -> each.wakeOnReadable(other.first());
        assertThat(park(SHORT)).isFalse();
        awaited =
                each -> {
                    each.wakeOnReadable(other.first());
                    each.wakeOnWritable(one.second());
                };
        assertThat(park(FOREVER)).isTrue();
    }

    @Test
    void closedLinkEndsTheSleep() {
        awaited = each -> each.wakeOnReadable(one.first());
        assertThat(park(SHORT)).isFalse();
        one.close();
        assertThat(park(FOREVER)).isTrue();
    }

    @Test
    void endOfTheOtherRankEndsTheSleep() throws Exception {
        awaited = each -> each.wakeOnReadable(one.first());
        Future<Boolean> ready = threads.submit(() -> park(FOREVER));
        one.second().close();
        assertThat(ready.get()).isTrue();
    }

    @Test
    void linksThroughMemoryCannotEndASleep() {
        Link link = new PartialTransferLink(1);
        awaited = each -> each.wakeOnReadable(link);
        assertThat(parker.canPark()).isFalse();
    }

    @Test
    void closedLinksAreReleased() {
        awaited = each -> each.wakeOnReadable(one.first());
        assertThat(park(SHORT)).isFalse();
        one.close();
        parker.releaseClosedLinks();
        assertThat(one.first().channel().isRegistered()).isFalse();
    }

    @Test
    void closedParkerDoesNotPark() {
        awaited = each -> each.wakeOnReadable(one.first());
        parker.close();
        assertThat(parker.canPark()).isFalse();
    }
}

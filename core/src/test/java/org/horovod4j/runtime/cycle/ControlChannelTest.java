package org.horovod4j.runtime.cycle;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.DataType;
import org.horovod4j.Shape;
import org.horovod4j.runtime.controller.Coordinator;
import org.horovod4j.runtime.controller.ProcessSetState;
import org.horovod4j.runtime.controller.WorldState;
import org.horovod4j.runtime.message.CollectiveKind;
import org.horovod4j.runtime.message.CoordinatorMessage;
import org.horovod4j.runtime.message.RankMessage;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.message.TestRequests;
import org.horovod4j.spi.Tuning;
import org.horovod4j.transport.CachedClock;
import org.horovod4j.transport.IdleStrategy;
import org.horovod4j.transport.Link;
import org.horovod4j.transport.Links;
import org.horovod4j.transport.ManualClock;
import org.junit.jupiter.api.Test;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/// Rank 0 sends the decisions of its coordinator to rank 1.
class ControlChannelTest {
    private static final int BUFFER_BYTES = 64 * 1024;

    private final ManualClock clock = new ManualClock();
    private final List<CoordinatorMessage> handled = new ArrayList<>();

    /// A link to a rank that reads nothing until rank 0 has handled a decision: it waits in the
    /// batch of that decision.
    private final class LinkToBusyRank implements Link {
        private long buffered;

        @Override
        public int peer() {
            return 1;
        }

        @Override
        public long trySend(MemorySegment segment, long offset, long length) {
            if (!handled.isEmpty()) {
                return length;
            }
            long sent = Math.min(length, BUFFER_BYTES - buffered);
            assertThat(sent).as("bytes sent while rank 1 waits for rank 0 in a batch").isPositive();
            buffered += sent;
            return sent;
        }

        @Override
        public long tryReceive(MemorySegment segment, long offset, long length) {
            return 0;
        }

        @Override
        public void close() {}
    }

    private final class LinksToBusyRank implements Links {
        private final Link link = new LinkToBusyRank();

        @Override
        public Link link(int peer) {
            return link;
        }

        @Override
        public void reset() {}

        @Override
        public void useStreams(int streams) {}

        @Override
        public void close() {}
    }

    @Test
    void largeDecisionIsSentAfterTheBatchesBeforeIt() {
        Coordinator coordinator =
                new Coordinator(
                        List.of(0, 1),
                        new Coordinator.CoordinatorSettings(0, true, false, false, () -> 1 << 20),
                        Tuning.DEFAULT,
                        (_, _) -> {});
        Request first =
                TestRequests.of(CollectiveKind.ALLREDUCE, "first", DataType.INT8, Shape.of(1));
        Stream<Request> second =
                IntStream.range(0, 1_000).mapToObj(i -> TestRequests.sum("x".repeat(900) + i, 1));
        List<RankMessage.RequestRef> requests =
                Stream.concat(Stream.of(first), second)
                        .<RankMessage.RequestRef>map(RankMessage.NewRequest::new)
                        .toList();
        for (int rank = 0; rank < 2; rank++) {
            coordinator.receive(rank, new RankMessage.Submit(0, 0, 0, requests));
        }
        ControlChannel controlChannel =
                new ControlChannel(
                        new ControlLinks(new LinksToBusyRank()::link, 0, 2),
                        coordinator,
                        new ProcessSetState(
                                new WorldState(), 0, List.of(0, 1), new CachedClock(clock)),
                        new IdleStrategy(() -> {}, clock, false),
                        clock,
                        handled::add);

        assertThat(controlChannel.exchange()).isTrue();
        assertThat(handled).hasSize(2);
    }
}

package org.horovod4j.runtime.message;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.HorovodException;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.spi.CompositeCall;
import org.horovod4j.spi.Tuning;
import org.horovod4j.testsupport.ByteFuzzer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/// Messages round-trip, and invalid bytes are rejected.
class ControlMessagesTest {
    private static final Request LONG =
            new Request(
                    CollectiveKind.REDUCESCATTER,
                    "ö".repeat(Request.MAX_NAME),
                    DataType.BFLOAT16,
                    Shape.of(1, 0, Long.MAX_VALUE),
                    ReduceOp.AVERAGE,
                    new Scale(-0.5, Double.MIN_VALUE),
                    -1,
                    new CompositeCall("group ü", "groupedReducescatter", 3),
                    true,
                    Device.cuda(5),
                    DataType.FLOAT16);
    private static final Request SMALL = TestRequests.broadcast("b", 7);

    static Stream<RankMessage> fromRank() {
        return Stream.of(
                new RankMessage.Submit(0, 0, 0, List.of()),
                new RankMessage.Submit(
                        Long.MAX_VALUE,
                        1L << 40,
                        3,
                        List.of(
                                new RankMessage.CachedRequest(5),
                                new RankMessage.CachedRequest(1_000),
                                new RankMessage.CachedRequest(1_003),
                                new RankMessage.NewRequest(LONG),
                                new RankMessage.NewRequest(SMALL),
                                new RankMessage.NewRequest(Request.barrier()))),
                new RankMessage.Submit(
                        1, 2, 3, List.of(new RankMessage.CachedRequest(Integer.MAX_VALUE - 1))),
                new RankMessage.Submit(1, 2, 3, List.of(new RankMessage.NewRequest(SMALL))),
                new RankMessage.Join(12),
                new RankMessage.FailStep(12, "Infinity in 'x'"),
                new RankMessage.Deviate(1L << 50, true),
                new RankMessage.Deviate(0, false),
                new RankMessage.Stopped(true),
                new RankMessage.ResetDone());
    }

    static Stream<CoordinatorMessage> toRanks() {
        return Stream.of(
                new CoordinatorMessage.Run(
                        List.of(
                                new CoordinatorMessage.Cached(0),
                                new CoordinatorMessage.Uncached(LONG, 77),
                                new CoordinatorMessage.Uncached(SMALL, -1)),
                        4),
                new CoordinatorMessage.Fail("name", "why\nand what to do", List.of(0, 300)),
                new CoordinatorMessage.Joined(3),
                new CoordinatorMessage.StepEnded(3),
                new CoordinatorMessage.Evict(List.of(3, 1, Integer.MAX_VALUE)),
                new CoordinatorMessage.Lock(9, List.of(List.of(LONG, SMALL), List.of(SMALL)), 1),
                new CoordinatorMessage.Lock(9, List.of(), 0),
                new CoordinatorMessage.Unlock(Long.MAX_VALUE),
                new CoordinatorMessage.Unlocked(false),
                new CoordinatorMessage.Unlocked(true),
                new CoordinatorMessage.Tune(
                        new Tuning(1L << 33, Duration.ofNanos(1_500), 64 * 1024, 1 << 20, 3)));
    }

    @ParameterizedTest
    @MethodSource("fromRank")
    void rankMessagesRoundTrip(RankMessage message) {
        assertThat(ControlMessageDecoder.fromRank(ControlMessageEncoder.encode(message)))
                .isEqualTo(message);
    }

    @ParameterizedTest
    @MethodSource("toRanks")
    void coordinatorMessagesRoundTrip(CoordinatorMessage message) {
        assertThat(ControlMessageDecoder.toRanks(ControlMessageEncoder.encode(message)))
                .isEqualTo(message);
    }

    @Test
    void everyKindTypeAndOpIsKnown() {
        for (CollectiveKind collectiveKind : CollectiveKind.values()) {
            for (DataType type : DataType.values()) {
                for (ReduceOp op : ReduceOp.values()) {
                    Request request =
                            TestRequests.with(
                                    TestRequests.of(collectiveKind, "t", type, Shape.SCALAR),
                                    op,
                                    Scale.NONE);
                    RankMessage said =
                            new RankMessage.Submit(
                                    0, 0, 0, List.of(new RankMessage.NewRequest(request)));
                    assertThat(ControlMessageDecoder.fromRank(ControlMessageEncoder.encode(said)))
                            .isEqualTo(said);
                }
            }
        }
    }

    @Test
    void aThousandCachedTensorsTakeABitEach() {
        List<RankMessage.RequestRef> requests =
                IntStream.range(40_000, 41_000)
                        .<RankMessage.RequestRef>mapToObj(RankMessage.CachedRequest::new)
                        .toList();
        assertThat(ControlMessageEncoder.encode(new RankMessage.Submit(3, 4, 5, requests)))
                .hasSizeLessThan(140);
    }

    @Test
    void messagesOfTheOtherDirectionAreRefused() {
        fromRank()
                .forEach(
                        message ->
                                refused(
                                        () ->
                                                ControlMessageDecoder.toRanks(
                                                        ControlMessageEncoder.encode(message))));
        toRanks()
                .forEach(
                        message ->
                                refused(
                                        () ->
                                                ControlMessageDecoder.fromRank(
                                                        ControlMessageEncoder.encode(message))));
    }

    private static void refused(Runnable decoding) {
        assertThatThrownBy(decoding::run)
                .isInstanceOf(HorovodException.class)
                .hasMessageContaining("use one version of Horovod4J on every rank");
    }

    @Test
    void bytesOfAnotherLengthAreRefused() {
        rankFuzzer().runOtherLengths();
        coordinatorFuzzer().runOtherLengths();
    }

    /// Any bytes are decoded or rejected: no other exception, no huge array.
    @Test
    void corruptedBytesAreDecodedOrRejected() {
        assertThat(rankFuzzer().run(ByteFuzzer.SHORT)).isPositive();
        assertThat(coordinatorFuzzer().run(ByteFuzzer.SHORT)).isPositive();
    }

    @Test
    @Tag("slow")
    void manyCorruptedBytesAreDecodedOrRefused() {
        assertThat(rankFuzzer().run(ByteFuzzer.LONG)).isPositive();
        assertThat(coordinatorFuzzer().run(ByteFuzzer.LONG)).isPositive();
    }

    private static ByteFuzzer rankFuzzer() {
        return new ByteFuzzer(
                "ControlMessageDecoder.fromRank",
                fromRank().map(ControlMessageEncoder::encode).toList(),
                ControlMessageDecoder::fromRank,
                HorovodException.class);
    }

    private static ByteFuzzer coordinatorFuzzer() {
        return new ByteFuzzer(
                "ControlMessageDecoder.toRanks",
                toRanks().map(ControlMessageEncoder::encode).toList(),
                ControlMessageDecoder::toRanks,
                HorovodException.class);
    }
}

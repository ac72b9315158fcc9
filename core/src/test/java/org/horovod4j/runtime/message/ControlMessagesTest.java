package org.horovod4j.runtime.message;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.DataType;
import org.horovod4j.HorovodException;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.spi.Tuning;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/// What is written is read, and nothing else is.
class ControlMessagesTest {
    private static final Request LONG =
            new Request(
                    Kind.REDUCESCATTER,
                    "ö".repeat(Request.MAX_NAME),
                    DataType.BFLOAT16,
                    Shape.of(1, 0, Long.MAX_VALUE),
                    ReduceOp.AVERAGE,
                    new Scale(-0.5, Double.MIN_VALUE),
                    -1,
                    "group ü",
                    true);
    private static final Request SMALL = Requests.broadcast("b", 7);

    static Stream<FromRank> fromRank() {
        return Stream.of(
                new FromRank.Submit(0, 0, 0, List.of()),
                new FromRank.Submit(
                        Long.MAX_VALUE,
                        1L << 40,
                        3,
                        List.of(
                                new FromRank.Known(5),
                                new FromRank.Known(1_000),
                                new FromRank.Known(1_003),
                                new FromRank.Fresh(LONG),
                                new FromRank.Fresh(SMALL),
                                new FromRank.Fresh(Request.barrier()))),
                new FromRank.Submit(1, 2, 3, List.of(new FromRank.Known(Integer.MAX_VALUE - 1))),
                new FromRank.Submit(1, 2, 3, List.of(new FromRank.Fresh(SMALL))),
                new FromRank.Join(12),
                new FromRank.Deviate(1L << 50, true),
                new FromRank.Deviate(0, false),
                new FromRank.Stopped(true),
                new FromRank.Ready());
    }

    static Stream<ToRanks> toRanks() {
        return Stream.of(
                new ToRanks.Run(
                        List.of(
                                new ToRanks.Cached(0),
                                new ToRanks.Introduced(LONG, 77),
                                new ToRanks.Introduced(SMALL, -1)),
                        4),
                new ToRanks.Fail("name", "why\nand what to do"),
                new ToRanks.Joined(3),
                new ToRanks.Evict(List.of(3, 1, Integer.MAX_VALUE)),
                new ToRanks.Lock(9, List.of(List.of(LONG, SMALL), List.of(SMALL)), 1),
                new ToRanks.Lock(9, List.of(), 0),
                new ToRanks.Unlock(Long.MAX_VALUE),
                new ToRanks.Unlocked(false),
                new ToRanks.Unlocked(true),
                new ToRanks.Tune(
                        new Tuning(1L << 33, Duration.ofNanos(1_500), 64 * 1024, 1 << 20, 3)));
    }

    @ParameterizedTest
    @MethodSource("fromRank")
    void whatARankSaysIsHeard(FromRank message) {
        assertThat(Decoder.fromRank(Encoder.encode(message))).isEqualTo(message);
    }

    @ParameterizedTest
    @MethodSource("toRanks")
    void whatTheCoordinatorSaysIsHeard(ToRanks message) {
        assertThat(Decoder.toRanks(Encoder.encode(message))).isEqualTo(message);
    }

    @Test
    void everyKindTypeAndOpIsKnown() {
        for (Kind kind : Kind.values()) {
            for (DataType type : DataType.values()) {
                for (ReduceOp op : ReduceOp.values()) {
                    Request request =
                            Requests.with(
                                    Requests.of(kind, "t", type, Shape.SCALAR), op, Scale.NONE);
                    FromRank said =
                            new FromRank.Submit(0, 0, 0, List.of(new FromRank.Fresh(request)));
                    assertThat(Decoder.fromRank(Encoder.encode(said))).isEqualTo(said);
                }
            }
        }
    }

    @Test
    void aThousandCachedTensorsTakeABitEach() {
        List<FromRank.Ask> asks =
                IntStream.range(40_000, 41_000)
                        .<FromRank.Ask>mapToObj(FromRank.Known::new)
                        .toList();
        assertThat(Encoder.encode(new FromRank.Submit(3, 4, 5, asks))).hasSizeLessThan(140);
    }

    @Test
    void messagesOfTheOtherDirectionAreRefused() {
        fromRank().forEach(message -> refused(() -> Decoder.toRanks(Encoder.encode(message))));
        toRanks().forEach(message -> refused(() -> Decoder.fromRank(Encoder.encode(message))));
    }

    private static void refused(Runnable decoding) {
        assertThatThrownBy(decoding::run)
                .isInstanceOf(HorovodException.class)
                .hasMessageContaining("use one version of Horovod4J on every rank");
    }

    @Test
    void messagesCutShortOrTooLongAreRefused() {
        toRanks()
                .map(Encoder::encode)
                .forEach(
                        bytes -> {
                            for (int length = 0; length < bytes.length; length++) {
                                byte[] cut = Arrays.copyOf(bytes, length);
                                refused(() -> Decoder.toRanks(cut));
                            }
                            refused(() -> Decoder.toRanks(Arrays.copyOf(bytes, bytes.length + 1)));
                        });
    }

    /// Whatever comes, it is a message or it is refused: no other exception, no giant array.
    @Test
    void changedBytesAreReadOrRefused() {
        SplittableRandom random = new SplittableRandom(11);
        List<byte[]> good =
                Stream.concat(fromRank().map(Encoder::encode), toRanks().map(Encoder::encode))
                        .toList();
        int refused = 0;
        for (int i = 0; i < 20_000; i++) {
            byte[] bytes = good.get(i % good.size()).clone();
            for (int j = random.nextInt(1, 4); j > 0; j--) {
                bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
            }
            try {
                Object _ = random.nextBoolean() ? Decoder.fromRank(bytes) : Decoder.toRanks(bytes);
            } catch (HorovodException e) {
                refused++;
            }
        }
        assertThat(refused).isPositive();
    }
}

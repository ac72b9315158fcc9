package org.horovod4j.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.api.ThrowableAssert;
import org.horovod4j.Communicator;
import org.horovod4j.HorovodException;
import org.horovod4j.codec.CodecException;
import org.horovod4j.testing.FewLayouts;
import org.horovod4j.testing.Layout;
import org.horovod4j.testing.MultiRankLayouts;
import org.horovod4j.testing.World;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

class ObjectCollectivesTest {
    enum Phase {
        WARM_UP,
        TRAIN
    }

    record Step(int epoch, double rate, Phase phase, List<String> names) {}

    private static Map<String, Object> nested(int rank) {
        return Map.of(
                "rank",
                rank,
                "step",
                new Step(rank, 0.1 * rank, Phase.TRAIN, List.of("a", "ü" + rank)),
                "list",
                IntStream.range(0, rank * 10).boxed().toList());
    }

    @FewLayouts
    void everyRankGetsTheObjectOfTheRoot(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            for (int root = 0; root < comm.size(); root++) {
                                assertThat(comm.broadcastObject("state", nested(comm.rank()), root))
                                        .isEqualTo(nested(root));
                            }
                        });
    }

    @FewLayouts
    void whatTheOthersPassIsIgnored(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            @Nullable String mine = comm.rank() == 0 ? "of rank 0" : null;
                            assertThat(comm.<@Nullable String>broadcastObject("text", mine, 0))
                                    .isEqualTo("of rank 0");
                            assertThat(comm.<@Nullable String>broadcastObject("null", null, 0))
                                    .isNull();
                        });
    }

    @FewLayouts
    void gatheredObjectsComeInRankOrder(Layout layout) {
        layout.world()
                .run(
                        comm ->
                                assertThat(comm.allgatherObject("state", nested(comm.rank())))
                                        .containsExactlyElementsOf(
                                                IntStream.range(0, comm.size())
                                                        .mapToObj(ObjectCollectivesTest::nested)
                                                        .toList()));
    }

    @FewLayouts
    void largeByteArraysTravel(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            byte[] mine = bytes(comm);
                            List<byte[]> all = comm.allgatherObject("bytes", mine);
                            assertThat(all).hasSize(comm.size());
                            assertThat(all.get(comm.rank())).isEqualTo(mine);
                            assertThat(all.getLast()).hasSize(100_003 * comm.size());
                            byte[] spread = comm.broadcastObject("spread", mine, comm.size() - 1);
                            assertThat(spread).isEqualTo(all.getLast());
                        });
    }

    private static byte[] bytes(Communicator communicator) {
        byte[] bytes = new byte[100_003 * (communicator.rank() + 1)];
        Arrays.fill(bytes, (byte) communicator.rank());
        return bytes;
    }

    @MultiRankLayouts
    void anObjectThatCannotBeWrittenFailsOnEveryRankAndNamesItsOwner(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            boolean mine = comm.rank() == 1;
                            Object object = mine ? Thread.currentThread() : "text";
                            ThrowableAssert.ThrowingCallable gather =
                                    () -> comm.allgatherObject("state", object);
                            ThrowableAssert.ThrowingCallable broadcast =
                                    () -> comm.broadcastObject("state", object, 1);
                            for (var collective : List.of(gather, broadcast)) {
                                assertThatThrownBy(collective)
                                        .isInstanceOf(
                                                mine
                                                        ? CodecException.class
                                                        : HorovodException.class)
                                        .hasMessageContaining(mine ? "Thread" : "rank 1");
                            }
                            assertThat(comm.allgatherObject("rank", comm.rank()))
                                    .hasSize(comm.size());
                        });
    }

    @Test
    void failureNamesTheOwnerOfTheObjectWhileAnotherRankHasJoined() {
        World.run(
                3,
                comm -> {
                    if (comm.rank() > 0) {
                        assertThat(comm.allgatherObject("text", "of " + comm.rank()))
                                .containsExactly("of 1", "of 2");
                        Object object = comm.rank() == 2 ? Thread.currentThread() : "text";
                        assertThatThrownBy(() -> comm.allgatherObject("state", object))
                                .hasMessageContaining(comm.rank() == 2 ? "Thread" : "of rank 2");
                    }
                    comm.join();
                });
    }
}

package org.horovod4j.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.horovod4j.testing.TensorAssert.assertThat;

import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Handle;
import org.horovod4j.MismatchException;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.testing.Layout;
import org.horovod4j.testing.MultiRankLayouts;
import org.horovod4j.testing.SampleTensors;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;

import java.util.List;
import java.util.stream.IntStream;

/// Ranks that request different things under one name all get the same report, and continue.
@Timeout(
        value = 120,
        threadMode = Timeout.ThreadMode.SEPARATE_THREAD) // a rank left waiting would never end
class MismatchTest {
    @MultiRankLayouts
    void everyRankGetsTheMismatchReportAndTensorsAreUnchanged(Layout layout) {
        List<MismatchCase> quarrels = MismatchCase.all();
        reportsTheSameEverywhere(
                layout,
                comm ->
                        IntStream.range(0, quarrels.size())
                                .mapToObj(i -> quarrel(comm, quarrels.get(i), i % comm.size()))
                                .toList());
    }

    @Tag("slow")
    @MultiRankLayouts
    void anyRankMayCauseAnyMismatch(Layout layout) {
        reportsTheSameEverywhere(
                layout,
                comm ->
                        MismatchCase.all().stream()
                                .flatMap(
                                        each ->
                                                IntStream.range(0, comm.size())
                                                        .mapToObj(odd -> quarrel(comm, each, odd)))
                                .toList());
    }

    private static void reportsTheSameEverywhere(
            Layout layout, World.CallableBody<List<String>> quarrels) {
        List<List<String>> reports = layout.world().call(quarrels);
        for (List<String> others : reports) {
            assertThat(others).isEqualTo(reports.getFirst());
        }
    }

    private static String quarrel(Communicator communicator, MismatchCase mismatchCase, int odd) {
        MismatchCase.RankRequest mine =
                communicator.rank() == odd ? mismatchCase.odd() : mismatchCase.usual();
        Tensor original =
                SampleTensors.of(mine.type(), mine.shape(), ReduceOp.SUM, communicator.rank());
        Tensor tensor = SampleTensors.copy(original);
        MismatchException report =
                catchThrowableOfType(
                        MismatchException.class,
                        () -> mine.collectiveCall().on(communicator, tensor));
        assertThat(report).as("%s, rank %d being odd", mismatchCase, odd).isNotNull();
        assertThat(report.getMessage())
                .contains(mismatchCase.about())
                .contains("  " + mismatchCase.usual().words())
                .containsPattern(
                        "\\Q  "
                                + mismatchCase.odd().words()
                                + "\\E\\d* on rank \\Q"
                                + odd
                                + "\\E\n");
        assertThat(tensor).as("%s", mismatchCase).isBitwiseEqualTo(original);
        goesOn(communicator);
        return String.valueOf(report.getMessage());
    }

    private static void goesOn(Communicator communicator) {
        int[] ranks = {communicator.rank(), 1};
        communicator.allreduce("next", Tensor.of(ranks), ReduceOp.SUM);
        int size = communicator.size();
        assertThat(ranks).containsExactly(size * (size - 1) / 2, size);
    }

    @MultiRankLayouts
    void reportsGroupTheRanksThatAgree(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            DataType type =
                                    comm.rank() % 2 == 0 ? DataType.FLOAT32 : DataType.INT32;
                            Tensor tensor = Tensor.zeros(type, Shape.of(17));
                            MismatchException report =
                                    catchThrowableOfType(
                                            MismatchException.class,
                                            () -> comm.allreduce("fc1", tensor, ReduceOp.SUM));
                            String[] expected = EVEN_AND_ODD[comm.size()];
                            assertThat(report.getMessage())
                                    .isEqualTo(
                                            """
                                            allreduce of 'fc1': the ranks disagree on its data type
                                              float32 on %s
                                              int32 on %s
                                            Convert it to one type on every rank."""
                                                    .formatted((Object[]) expected));
                            goesOn(comm);
                        });
    }

    /// How a report names the even and the odd ranks of a world, by its size.
    private static final String[][] EVEN_AND_ODD = {
        {},
        {},
        {"rank 0", "rank 1"},
        {"ranks 0, 2", "rank 1"},
        {"ranks 0, 2", "ranks 1, 3"},
        {"ranks 0, 2, 4", "ranks 1, 3"}
    };

    /// Ranks request by cache slot what they have requested before, whatever its first dimension is.
    @MultiRankLayouts
    void reportsShowNoFirstDimensionOfAnotherRankOrStep(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            for (int step = 0; step < 3; step++) {
                                float[] rows = new float[4 * (step + comm.rank())];
                                comm.allgather("rows", Tensor.of(rows, step + comm.rank(), 4));
                            }
                            int columns = comm.rank() == comm.size() - 1 ? 6 : 4;
                            Tensor wrong = Tensor.of(new float[99 * columns], 99, columns);
                            MismatchException report =
                                    catchThrowableOfType(
                                            MismatchException.class,
                                            () -> comm.allgather("rows", wrong));
                            assertThat(report.getMessage())
                                    .contains("  [*, 4] on rank", "  [*, 6] on rank")
                                    .doesNotContainPattern("\\[\\d");
                            goesOn(comm);
                        });
    }

    @MultiRankLayouts
    void differentNamesWaitInsteadOfFailing(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            Tensor reduced = Tensor.of(new int[] {1});
                            Tensor gathered = Tensor.of(new int[] {comm.rank()});
                            if (comm.rank() == 0) {
                                Handle<Tensor> first =
                                        comm.allreduceAsync("sum", reduced, ReduceOp.SUM);
                                assertThat(comm.allgather("all", gathered).elementCount())
                                        .isEqualTo(comm.size());
                                first.join();
                            } else {
                                Handle<Tensor> first = comm.allgatherAsync("all", gathered);
                                comm.allreduce("sum", reduced, ReduceOp.SUM);
                                assertThat(first.join().elementCount()).isEqualTo(comm.size());
                            }
                            assertThat(reduced.toIntArray()).containsExactly(comm.size());
                        });
    }

    @MultiRankLayouts
    void whatWasSubmittedBehindAMismatchStillRuns(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            long length = comm.rank() == 0 ? 3 : 4;
                            Tensor disputed = Tensor.zeros(DataType.FLOAT32, Shape.of(length));
                            int[] ranks = {comm.rank()};
                            Handle<Tensor> bad =
                                    comm.allreduceAsync("disputed", disputed, ReduceOp.SUM);
                            Handle<Tensor> good = comm.allgatherAsync("good", Tensor.of(ranks));
                            assertThat(good.join().elementCount()).isEqualTo(comm.size());
                            assertThat(good.failure()).isEmpty();
                            assertThatThrownBy(bad::join)
                                    .isInstanceOf(MismatchException.class)
                                    .hasMessageContaining("[3] on rank 0");
                            assertThat(bad.failure()).containsInstanceOf(MismatchException.class);
                            // The name is free again.
                            Tensor agreed = Tensor.zeros(DataType.FLOAT32, Shape.of(3));
                            comm.allreduce("disputed", agreed, ReduceOp.SUM);
                        });
    }
}

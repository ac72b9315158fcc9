package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;

import static java.util.Map.entry;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.Handle;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;
import org.horovod4j.option.Options;
import org.horovod4j.testsupport.SimulatedHost;
import org.horovod4j.testsupport.SlowCases;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/// Ranks that submit different requests under one name.
class MismatchIT {
    /// What ranks may disagree on, and the error message: the value of rank 0 and that of the last
    /// rank.
    private static final Map<String, List<String>> OCCASIONS =
            Map.ofEntries(
                    entry("shape", List.of("allreduce of", "[4] on rank", "[6] on rank LAST\n")),
                    entry("large", List.of("[1000000] on rank 0\n", "on rank LAST\n")),
                    entry("length", List.of("[4] on rank 0\n", "[1000000] on rank")),
                    entry(
                            "columns",
                            List.of("allgather of", "[*, 4] on rank", "[*, 6] on rank LAST")),
                    entry("type", List.of("float32 on rank", "int32 on rank LAST\n")),
                    entry("op", List.of("SUM on rank", "MAX on rank LAST\n")),
                    entry("scale", List.of("0.5", "rank LAST\n")),
                    entry(
                            "root",
                            List.of("root rank 0 on rank 0\n", "root rank LAST on rank LAST\n")),
                    entry("kind", List.of("allreduce on rank", "broadcast on rank LAST\n")),
                    entry(
                            "group",
                            List.of(
                                    "allreduce on rank",
                                    "groupedAllreduce of 2 tensors on rank LAST\n")),
                    entry("empty", List.of("2 tensors on rank", "0 tensors on rank LAST\n")),
                    entry("members", List.of("2 tensors on rank", "3 tensors on rank LAST\n")),
                    entry("sparse", List.of("allreduce on", "sparseAllreduce on rank LAST\n")));

    private static final int STEPS = 12;

    /// Differs from the other ranks in each case in turn, twice: while ranks negotiate, and while a
    /// plan is locked.
    static final class Worker {
        private Worker() {}

        public static void main(String[] args) {
            Hvd.init();
            for (String occasion : OCCASIONS.keySet().stream().sorted().toList()) {
                disagree(occasion);
                goOn(1);
                CallResult.report(occasion, () -> submit(occasion, true).join());
                goOn(STEPS);
                CallResult.report(occasion + "-again", () -> submit(occasion, true).join());
                submit(occasion, false).join();
            }
            namesWaitForEachOther();
            Hvd.shutdown();
        }

        /// A mismatch of one name does not affect other operations in flight.
        private static void disagree(String occasion) {
            Handle<Tensor> before = Hvd.allreduceAsync("before", one(), ReduceOp.SUM);
            Handle<Tensor> wrong = submit(occasion, true);
            Handle<Tensor> after = Hvd.allreduceAsync("after", one(), ReduceOp.SUM);
            assertThat(before.join().toFloatArray()).containsExactly(Hvd.size());
            assertThat(after.join().toFloatArray()).containsExactly(Hvd.size());
            CallResult.report(occasion + "-among-others", wrong::join);
        }

        /// @param wrong whether the last rank, or each rank, submits a different request
        private static Handle<Tensor> submit(String name, boolean wrong) {
            boolean first = Hvd.rank() == 0;
            boolean other = wrong && Hvd.rank() == Hvd.size() - 1;
            return switch (name) {
                case "shape" -> sum(name, other ? 6 : 4);
                case "large" -> sum(name, 1_000_000 + (wrong ? Hvd.rank() : 0));
                case "length" -> sum(name, first || !wrong ? 4 : 1_000_000);
                case "columns" -> {
                    int columns = other ? 6 : 4;
                    int rows = other ? 2 : 1; // which is no mistake
                    yield Hvd.allgatherAsync(
                            name, Tensor.of(new float[rows * columns], rows, columns));
                }
                case "type" ->
                        Hvd.allreduceAsync(
                                name,
                                other ? Tensor.of(new int[4]) : Tensor.of(new float[4]),
                                ReduceOp.SUM);
                case "op" -> Hvd.allreduceAsync(name, one(), other ? ReduceOp.MAX : ReduceOp.SUM);
                case "scale" -> {
                    Tensor tensor = one();
                    Scale scale = other ? Scale.before(0.5) : Scale.NONE;
                    yield Hvd.allreduceAsync(name, tensor, AllreduceOptions.sum().withScale(scale));
                }
                case "root" -> Hvd.broadcastAsync(name, one(), wrong ? Hvd.rank() : 0);
                case "kind" -> other ? Hvd.broadcastAsync(name, one(), 0) : sum(name, 1);
                case "group" -> other ? group(name, 2) : sum(name, 1);
                case "empty" -> group(name, other ? 0 : 2);
                case "members" -> group(name, other ? 3 : 2);
                case "sparse" -> other ? sparse(name) : sum(name, 1);
                default -> throw new IllegalArgumentException(name);
            };
        }

        private static Handle<Tensor> group(String name, int members) {
            List<Tensor> tensors = Stream.generate(Worker::one).limit(members).toList();
            return Hvd.groupedAllreduceAsync(name, tensors, ReduceOp.SUM).thenApply(List::getFirst);
        }

        private static Handle<Tensor> sparse(String name) {
            SparseTensor row =
                    new SparseTensor(Tensor.of(new int[] {0}), one().reshape(1, 1), Shape.of(4, 1));
            return Hvd.sparseAllreduceAsync(name, row, ReduceOp.SUM).thenApply(_ -> one());
        }

        private static Handle<Tensor> sum(String name, int length) {
            return Hvd.allreduceAsync(name, Tensor.of(new float[length]), ReduceOp.SUM);
        }

        private static void goOn(int steps) {
            for (int step = 0; step < steps; step++) {
                float[] ones = new float[10_007];
                ones[5] = 1;
                Hvd.allreduce("afterwards", ones, ReduceOp.SUM);
                assertThat(ones[5]).isEqualTo(Hvd.size());
            }
        }

        /// Different names are not a mismatch: each operation waits until all ranks have submitted
        /// it.
        private static void namesWaitForEachOther() {
            Handle<Tensor> mine = Hvd.allreduceAsync("of rank " + Hvd.rank(), one(), ReduceOp.SUM);
            goOn(1);
            assertThat(mine.isDone()).isFalse();
            goOn(1); // a faster rank would submit this rank's operation before it has looked
            for (int rank = 0; rank < Hvd.size(); rank++) {
                Handle<Tensor> each =
                        rank == Hvd.rank()
                                ? mine
                                : Hvd.allreduceAsync("of rank " + rank, one(), ReduceOp.SUM);
                assertThat(each.join().toFloatArray()).containsExactly(Hvd.size());
            }
        }

        private static Tensor one() {
            return Tensor.of(new float[] {1});
        }
    }

    /// Sizes that are not powers of two: there the first peer of a rank depends most on the
    /// algorithm.
    @ParameterizedTest(name = "{0} ranks, transport {1}")
    @CsvSource({"3, auto"})
    @SlowCases({"3, tcp", "5, tcp"})
    void mismatchFailsAllRanksAndNameIsReusable(int size, String transport) throws Exception {
        assertAllHear(size, TestJobPlan.of(size, Worker.class).with(Options.TRANSPORT, transport));
    }

    @Test
    void mismatchFailsAllRanksBetweenHosts() throws Exception {
        try (SimulatedHost alpha = new SimulatedHost();
                SimulatedHost beta = new SimulatedHost()) {
            assertAllHear(3, TestJobPlan.of(3, Worker.class).onHosts(alpha, beta));
        }
    }

    private static void assertAllHear(int size, TestJobPlan plan) throws Exception {
        try (TestJob testJob = plan.start()) {
            testJob.awaitSuccess();
            OCCASIONS.forEach(
                    (occasion, words) -> {
                        CallResult first = testJob.rank(0).callResult(occasion);
                        assertThat(first.type()).isEqualTo("MismatchException");
                        assertThat(first.message())
                                .contains("'" + occasion + "'")
                                .contains(
                                        words.stream()
                                                .map(word -> word.replace("LAST", "" + (size - 1)))
                                                .toList());
                        assertThat(testJob.ranks())
                                .allSatisfy(rank -> assertSame(first, rank, occasion));
                    });
        }
    }

    private static void assertSame(CallResult first, TestRankProcess rank, String occasion) {
        assertThat(rank.callResult(occasion)).isEqualTo(first);
        for (String other : List.of("-again", "-among-others")) {
            CallResult callResult = rank.callResult(occasion + other);
            assertThat(callResult.type()).isEqualTo(first.type());
            assertThat(callResult.message()).isEqualTo(first.message());
        }
    }
}

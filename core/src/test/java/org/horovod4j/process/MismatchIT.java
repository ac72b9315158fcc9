package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.option.Options;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.util.List;

/// Ranks that mean different things by one call.
class MismatchIT {
    private static final List<String> OCCASIONS =
            List.of("shape", "large", "length", "algorithm", "type", "root", "kind");

    /// Differs from the other ranks in one thing after the other.
    static final class Worker {
        private Worker() {}

        public static void main(String[] args) {
            Hvd.init();
            for (String occasion : OCCASIONS) {
                Told.of(occasion, () -> disagree(occasion));
                goOn();
            }
            Hvd.shutdown();
        }

        private static void disagree(String occasion) {
            boolean first = Hvd.rank() == 0;
            boolean last = Hvd.rank() == Hvd.size() - 1;
            switch (occasion) {
                case "shape" -> sum("weights", last ? 6 : 4);
                case "large" -> sum("large", 1_000_000 + Hvd.rank());
                case "length" -> sum("length", first ? 4 : 1_000_000);
                // Neither is large, but over links the two would be reduced in different ways.
                case "algorithm" -> sum("algorithm", first ? 4 : 16_000);
                case "type" -> {
                    Tensor tensor = last ? Tensor.of(new int[4]) : Tensor.of(new float[4]);
                    Hvd.allreduce("bias", tensor, ReduceOp.SUM);
                }
                case "root" -> Hvd.broadcast("state", Tensor.of(new float[4]), Hvd.rank());
                case "kind" -> {
                    if (last) {
                        Hvd.barrier();
                    } else {
                        Hvd.allgather("rows", Tensor.of(new float[4]));
                    }
                }
                default -> throw new IllegalArgumentException(occasion);
            }
        }

        private static void sum(String name, int length) {
            Hvd.allreduce(name, new float[length], ReduceOp.SUM);
        }

        private static void goOn() {
            float[] ones = new float[10_007];
            ones[5] = 1;
            Hvd.allreduce("afterwards", ones, ReduceOp.SUM);
            assertThat(ones[5]).isEqualTo(Hvd.size());
        }
    }

    /// Sizes that are no powers of two, where algorithms differ most in who sends to whom at first.
    @ParameterizedTest(name = "{0} ranks, transport {1}")
    @CsvSource({"3, auto", "3, tcp", "5, tcp"})
    void everyRankHearsTheSameAndTheJobGoesOn(int size, String transport) throws IOException {
        JobPlan plan = JobPlan.of(size, Worker.class).with(Options.TRANSPORT, transport);
        try (Job job = plan.start()) {
            job.awaitSuccess();
            assertThat(job.rank(0).told("shape").message())
                    .contains(
                            "allreduce of 'weights'",
                            "[4] on ranks 0",
                            "[6] on rank " + (size - 1));
            for (String occasion : OCCASIONS) {
                Told first = job.rank(0).told(occasion);
                assertThat(first.type()).isEqualTo("MismatchException");
                assertThat(job.ranks()).allMatch(rank -> rank.told(occasion).equals(first));
            }
        }
    }
}

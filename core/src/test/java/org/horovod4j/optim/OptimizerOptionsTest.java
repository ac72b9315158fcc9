package org.horovod4j.optim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

class OptimizerOptionsTest {
    private static final class Options extends OptimizerOptions<Options> {
        @Override
        protected Options self() {
            return this;
        }
    }

    @Test
    void ranksAreUnknownBeforeInit() {
        OptimizerOptions.Ranks ranks = new Options().ranks();
        assertThat(ranks.areKnown()).isFalse();
        assertThat(ranks.processSetId()).isZero();
    }

    @Test
    void processSetReplacesThatOfCommunicator() {
        World.run(
                2,
                comm -> {
                    ProcessSet first = comm.addProcessSet(0);
                    OptimizerOptions.Ranks all = new Options().communicator(comm).ranks();
                    assertThat(all.areKnown()).isTrue();
                    assertThat(all.current().get()).isEqualTo(comm.processSet());
                    OptimizerOptions.Ranks one =
                            new Options().communicator(comm).processSet(first).ranks();
                    assertThat(one.processSetId()).isEqualTo(first.id());
                    assertThat(one.current().get()).isEqualTo(first);
                });
    }

    @Test
    void unknownProcessSetIsNamed() {
        World.run(
                1,
                comm -> {
                    assertThat(OptimizerOptions.findProcessSet(comm, 0))
                            .isEqualTo(comm.processSet());
                    assertThatThrownBy(() -> OptimizerOptions.findProcessSet(comm, 7))
                            .isInstanceOf(IllegalStateException.class)
                            .hasMessageContaining(
                                    "in process set 7, but there are only the process sets [0]");
                });
    }

    @Test
    void optionsBecomeSettings() {
        GradientSettings settings =
                new Options()
                        .op(ReduceOp.SUM)
                        .backwardPassesPerStep(3)
                        .averageAccumulated(true)
                        .sparseAsDense(true)
                        .local("bias"::equals)
                        .name("critic")
                        .settings();
        assertThat(settings.op()).isEqualTo(ReduceOp.SUM);
        assertThat(settings.backwardPassesPerStep()).isEqualTo(3);
        assertThat(settings.averageAccumulated()).isTrue();
        assertThat(settings.sparseAsDense()).isTrue();
        assertThat(settings.local().test("bias")).isTrue();
        assertThat(settings.prefix()).endsWith(".critic");
    }

    @Test
    void contradictionIsRefused() {
        assertThatThrownBy(() -> new Options().op(ReduceOp.SUM).predivideFactor(2).settings())
                .isInstanceOf(IllegalArgumentException.class);
    }
}

package org.horovod4j.collectives;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.Handle;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.testing.EveryLayout;
import org.horovod4j.testing.FewLayouts;
import org.horovod4j.testing.Layout;

import java.util.concurrent.atomic.AtomicInteger;

class BarrierTest {
    @EveryLayout
    void noRankReturnsBeforeAllHaveEntered(Layout layout) {
        AtomicInteger arrived = new AtomicInteger();
        layout.world()
                .run(
                        comm -> {
                            for (int round = 1; round <= 20; round++) {
                                arrived.incrementAndGet();
                                comm.barrier();
                                assertThat(arrived.get())
                                        .isGreaterThanOrEqualTo(round * comm.size());
                                comm.barrier();
                            }
                        });
    }

    @FewLayouts
    void waitsForWhatWasSubmittedBefore(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            Tensor reduced = Tensor.of(new float[100_003]);
                            Tensor spread = Tensor.of(new int[] {comm.rank()});
                            Tensor joined = Tensor.of(new int[] {comm.rank()});
                            Handle<Tensor> allreduce =
                                    comm.allreduceAsync("reduced", reduced, ReduceOp.SUM);
                            Handle<Tensor> broadcast = comm.broadcastAsync("spread", spread, 0);
                            Handle<Tensor> allgather = comm.allgatherAsync("joined", joined);
                            comm.barrier();
                            assertThat(allreduce.isDone()).isTrue();
                            assertThat(broadcast.isDone()).isTrue();
                            assertThat(allgather.isDone()).isTrue();
                            assertThat(allgather.join().elementCount()).isEqualTo(comm.size());
                        });
    }
}

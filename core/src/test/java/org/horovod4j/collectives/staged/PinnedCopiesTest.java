package org.horovod4j.collectives.staged;

import static org.assertj.core.api.Assertions.assertThat;
import static org.horovod4j.testing.DeviceWorlds.onDevice;

import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.testing.DeviceWorlds;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.List;

/// Copies of the backend `HOST` use memory whose pages are locked.
class PinnedCopiesTest {
    private static void run(Communicator comm, String collective, Tensor tensor) {
        switch (collective) {
            case "allreduce" -> comm.allreduce("t", tensor, ReduceOp.SUM);
            case "adasum" -> comm.allreduce("t", tensor, ReduceOp.ADASUM);
            case "reducescatter" -> comm.reducescatter("t", tensor, ReduceOp.SUM);
            case "broadcast" -> comm.broadcast("t", tensor, 1);
            case "allgather" -> comm.allgather("t", tensor);
            case "alltoall" -> comm.alltoall("t", tensor);
            default -> throw new IllegalArgumentException(collective);
        }
    }

    /// The second collective of a size copies to and from pinned memory. Results of the CPU backend, in
    /// memory of its own, are copied up from there.
    @ParameterizedTest
    @CsvSource({
        "allreduce, 0",
        "adasum, 0",
        "reducescatter, 0",
        "broadcast, 0",
        "allgather, 2",
        "alltoall, 2"
    })
    void copiesAreFromAndToPinnedMemory(String collective, int unpinnedUp) {
        List<List<String>> copies =
                DeviceWorlds.of(2)
                        .call(
                                comm -> {
                                    Tensor tensor = onDevice(comm, new float[3000]);
                                    run(comm, collective, tensor);
                                    run(comm, collective, tensor);
                                    comm.barrier();
                                    if (comm.rank() == 0) {
                                        DeviceWorlds.takeUnpinnedCopies();
                                    }
                                    comm.barrier();
                                    run(comm, collective, tensor);
                                    comm.barrier();
                                    return comm.rank() == 0
                                            ? DeviceWorlds.takeUnpinnedCopies()
                                            : List.<String>of();
                                });
        assertThat(copies.getFirst()).hasSize(unpinnedUp).doesNotContain("down");
    }
}

package org.horovod4j.runtime.backend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.Communicator;
import org.horovod4j.ConfigurationException;
import org.horovod4j.Handle;
import org.horovod4j.HorovodException;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Tensor;
import org.horovod4j.spi.Backend;
import org.horovod4j.spi.DevicePlace;
import org.horovod4j.spi.HostBackend;
import org.horovod4j.spi.HostBackendProvider;
import org.horovod4j.spi.HostContext;
import org.horovod4j.testing.GatherBackendProvider;
import org.horovod4j.testing.World;
import org.horovod4j.testsupport.ParsedTrace;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;

class HostBackendsTest {
    private static final Map<String, String> BY_NAME =
            Map.of("HOROVOD_CPU_OPERATIONS", GatherBackendProvider.NAME);

    @BeforeEach
    void forgetCalls() {
        GatherBackendProvider.takeCalls();
    }

    private static void allreduce(Communicator comm, String name) {
        float[] tensor = {comm.rank(), 1};
        comm.allreduce(name, tensor, ReduceOp.SUM);
        int size = comm.size();
        assertThat(tensor).containsExactly(size * (size - 1) / 2f, size);
    }

    private static World withPreferred() {
        return GatherBackendProvider.worldOf(2, _ -> List.of(GatherBackendProvider.preferred()));
    }

    @Test
    void backendOnTheClassPathIsFoundAndChosenByName() {
        World.of(3).with(BY_NAME).run(comm -> allreduce(comm, "t"));
        assertThat(GatherBackendProvider.takeCalls()).containsOnly("allreduce").hasSize(3);
    }

    @Test
    void backendWithALowerPreferenceIsNotUsedUnlessNamed() {
        World.run(2, comm -> allreduce(comm, "t"));
        World.of(2).with(Map.of("HOROVOD_CPU_OPERATIONS", "cpu")).run(comm -> allreduce(comm, "t"));
        assertThat(GatherBackendProvider.takeCalls()).isEmpty();
    }

    @Test
    void backendWithAHigherPreferenceIsUsedUnlessCpuIsNamed() {
        withPreferred().run(comm -> allreduce(comm, "t"));
        assertThat(GatherBackendProvider.takeCalls()).hasSize(2);
        withPreferred()
                .with(Map.of("HOROVOD_CPU_OPERATIONS", "CPU"))
                .run(comm -> allreduce(comm, "t"));
        assertThat(GatherBackendProvider.takeCalls()).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(World.Transport.class)
    void collectivesOfTheBackendGiveTheRightResults(World.Transport transport) {
        World.of(3)
                .via(transport)
                .with(BY_NAME)
                .run(
                        comm -> {
                            int rank = comm.rank();
                            allreduce(comm, "sum");
                            Tensor scaled =
                                    comm.allreduce(
                                            "scaled",
                                            Tensor.of(new float[] {rank}),
                                            AllreduceOptions.of(ReduceOp.AVERAGE)
                                                    .withScale(new Scale(2, 3)));
                            assertThat(scaled.toFloatArray()).containsExactly(6);
                            assertThat(
                                            comm.allgather("rows", Tensor.of(new int[rank]))
                                                    .elementCount())
                                    .isEqualTo(3);
                            long[] root = {rank + 5};
                            comm.broadcast("root", root, 1);
                            assertThat(root).containsExactly(6);
                        });
        assertThat(GatherBackendProvider.takeCalls())
                .containsOnly("allreduce", "allgather", "broadcast");
    }

    @Test
    void cpuRunsWhatTheBackendDoesNotHave() {
        World.of(2)
                .with(BY_NAME)
                .run(
                        comm -> {
                            int rank = comm.rank();
                            int[] integers = {rank};
                            comm.allreduce("integers", integers, ReduceOp.SUM);
                            assertThat(integers).containsExactly(1);
                            float[] largest = {rank};
                            comm.allreduce("largest", largest, ReduceOp.MAX);
                            assertThat(largest).containsExactly(1);
                            float[] adasum = {1, 2};
                            comm.allreduce("adasum", adasum, ReduceOp.ADASUM);
                            assertThat(adasum).containsExactly(1, 2);
                            assertThat(
                                            comm.alltoall("rows", Tensor.of(new int[] {rank, rank}))
                                                    .toIntArray())
                                    .containsExactly(0, 1);
                            assertThat(
                                            comm.reducescatter(
                                                            "scattered",
                                                            Tensor.of(new float[] {1, 2}),
                                                            ReduceOp.SUM)
                                                    .toFloatArray())
                                    .containsExactly(2 * (rank + 1));
                            comm.barrier();
                        });
        assertThat(GatherBackendProvider.takeCalls()).isEmpty();
    }

    @Test
    void unknownNameIsAnErrorThatNamesTheBackends() {
        assertThatThrownBy(
                        () ->
                                World.of(2)
                                        .with(Map.of("HOROVOD_CPU_OPERATIONS", "gloo"))
                                        .run(comm -> allreduce(comm, "t")))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContainingAll(
                        "HOROVOD_CPU_OPERATIONS is GLOO, which some ranks cannot use",
                        "no jar with it on the class path on ranks 0, 1",
                        "There are: CPU, GATHER.");
    }

    @Test
    void backendThatARankLacksIsNotUsed() {
        GatherBackendProvider.worldOf(
                        2,
                        rank ->
                                rank == 0
                                        ? List.of(GatherBackendProvider.preferred())
                                        : List.of(GatherBackendProvider.unavailable()))
                .run(comm -> allreduce(comm, "t"));
        GatherBackendProvider.worldOf(
                        2, _ -> List.of(GatherBackendProvider.unsupported("too many ranks")))
                .run(comm -> allreduce(comm, "t"));
        assertThat(GatherBackendProvider.takeCalls()).isEmpty();
        assertThatThrownBy(
                        () ->
                                GatherBackendProvider.worldOf(
                                                2,
                                                rank ->
                                                        rank == 0
                                                                ? List.of(
                                                                        GatherBackendProvider
                                                                                .preferred())
                                                                : List.<HostBackendProvider>of())
                                        .with(BY_NAME)
                                        .run(comm -> allreduce(comm, "t")))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("no jar with it on the class path on rank 1");
    }

    @Test
    void backendsWithOneNameAreAnErrorOnAllRanks() {
        assertThatThrownBy(
                        () ->
                                GatherBackendProvider.worldOf(
                                                2,
                                                rank ->
                                                        Collections.nCopies(
                                                                rank + 1,
                                                                GatherBackendProvider.preferred()))
                                        .run(comm -> allreduce(comm, "t")))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContainingAll(
                        "several backends with one name",
                        "GATHER: %1$s, %1$s on rank 1"
                                .formatted(GatherBackendProvider.class.getName()));
    }

    /// The second backend cannot be created, and the first one cannot be closed.
    @Test
    void failureToCloseDoesNotHideTheFailureToCreate() {
        HostBackendProvider first =
                new BrokenProvider(
                        "FIRST",
                        2,
                        Unclosable.class,
                        () ->
                                (Unclosable)
                                        () -> {
                                            throw new HorovodException("cannot be closed");
                                        });
        HostBackendProvider second =
                new BrokenProvider(
                        "SECOND",
                        1,
                        Uncreatable.class,
                        () -> {
                            throw new HorovodException("cannot be created");
                        });
        assertThatThrownBy(
                        () ->
                                GatherBackendProvider.worldOf(1, _ -> List.of(first, second))
                                        .run(comm -> allreduce(comm, "t")))
                .hasMessageContaining("cannot be created")
                .hasSuppressedException(new HorovodException("cannot be closed"));
    }

    private interface Unclosable extends HostBackend, Backend.SupportsBroadcast {
        @Override
        default void broadcast(Tensor tensor, int rootRank) {}

        @Override
        default void abort() {}
    }

    private interface Uncreatable extends HostBackend, Backend.SupportsAlltoall {}

    private record BrokenProvider(
            String name,
            int preference,
            Class<? extends HostBackend> backendType,
            Supplier<HostBackend> creator)
            implements HostBackendProvider {
        @Override
        public String describe() {
            return "broken";
        }

        @Override
        public boolean isAvailable() {
            return true;
        }

        @Override
        public Optional<String> unsupportedReason(List<DevicePlace> places) {
            return Optional.empty();
        }

        @Override
        public HostBackend create(HostContext context) {
            return creator.get();
        }
    }

    /// A plan is locked after some steps. Then rank 1 deviates while rank 0 waits in a meeting, so the
    /// meeting is cancelled, and the backend never learns of that batch.
    @Test
    void plansAreLockedAndCancelled() {
        World.of(2)
                .with(BY_NAME)
                .run(
                        comm -> {
                            for (int round = 0; round < 5; round++) {
                                for (int step = 0; step < 20; step++) {
                                    steps(comm);
                                }
                                if (comm.rank() == 1) {
                                    float[] first = {1};
                                    comm.allreduce("only now", first, ReduceOp.SUM);
                                    steps(comm);
                                } else {
                                    float[] later = {1};
                                    Handle<Tensor> now =
                                            comm.allreduceAsync(
                                                    "only now", Tensor.of(later), ReduceOp.SUM);
                                    steps(comm);
                                    assertThat(now.join().toFloatArray()).containsExactly(2);
                                }
                            }
                        });
        assertThat(GatherBackendProvider.takeCalls()).contains("allreduce");
    }

    private static void steps(Communicator comm) {
        List<Handle<Tensor>> handles = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            handles.add(
                    comm.allreduceAsync(
                            "gradient " + i,
                            Tensor.of(new float[] {comm.rank() + i}),
                            ReduceOp.SUM));
        }
        for (int i = 0; i < 4; i++) {
            assertThat(handles.get(i).join().toFloatArray()).containsExactly(2 * i + 1);
        }
    }

    /// The library of rank 0 waits for rank 1, whose call fails: only an abort ends the wait.
    @Test
    void failureOfOneRankAbortsTheCallsOfTheOthers() {
        Map<Integer, CountDownLatch> aborted = new ConcurrentHashMap<>();
        GatherBackendProvider backend =
                GatherBackendProvider.with(
                        rank -> {
                            if (rank == 1) {
                                throw new HorovodException("no memory in the library");
                            }
                            await(aborted.computeIfAbsent(rank, _ -> new CountDownLatch(1)));
                            throw new HorovodException("aborted");
                        },
                        rank ->
                                aborted.computeIfAbsent(rank, _ -> new CountDownLatch(1))
                                        .countDown());
        List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
        assertThatThrownBy(
                        () ->
                                GatherBackendProvider.worldOf(2, _ -> List.of(backend))
                                        .run(
                                                comm -> {
                                                    try {
                                                        allreduce(comm, "t");
                                                    } catch (HorovodException e) {
                                                        failures.add(e);
                                                        throw e;
                                                    }
                                                }))
                .isInstanceOf(HorovodException.class);
        assertThat(failures).hasSize(2);
        assertThat(failures.toString()).contains("no memory in the library");
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void timelineNamesTheBackend(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("timeline.json");
        World.of(2)
                .with(BY_NAME)
                .run(
                        comm -> {
                            if (comm.rank() == 0) {
                                comm.startTimeline(file, false);
                            }
                            comm.barrier();
                            allreduce(comm, "t");
                            comm.allgather("rows", Tensor.of(new int[1]));
                            if (comm.rank() == 0) {
                                comm.stopTimeline();
                            }
                        });
        ParsedTrace trace = ParsedTrace.of(file);
        trace.assertNested();
        assertThat(trace.on("process set 0", "X"))
                .containsSubsequence(
                        "WAIT_FOR_DATA", "GATHER_ALLREDUCE", "WAIT_FOR_DATA", "GATHER_ALLGATHER");
    }
}

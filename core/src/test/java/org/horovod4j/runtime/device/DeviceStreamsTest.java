package org.horovod4j.runtime.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.horovod4j.testing.DeviceWorlds.hostValues;
import static org.horovod4j.testing.DeviceWorlds.launch;
import static org.horovod4j.testing.DeviceWorlds.onDevice;
import static org.horovod4j.testing.DeviceWorlds.read;
import static org.horovod4j.testing.DeviceWorlds.stream;
import static org.horovod4j.testing.DeviceWorlds.write;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.DeviceStream;
import org.horovod4j.Handle;
import org.horovod4j.HorovodException;
import org.horovod4j.OperationTimeoutException;
import org.horovod4j.PeerLostException;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.testing.DeviceWorlds;
import org.horovod4j.testing.FakeBackendProvider;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/// The order of work on the streams of a framework and on those of Horovod4J.
class DeviceStreamsTest {
    private final FakeBackendProvider fake = new FakeBackendProvider("FAKE");

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void operationWaitsForTheStreamThatComputesItsTensor() {
        DeviceWorlds.of(2, fake)
                .run(
                        comm -> {
                            DeviceStream framework = stream(comm);
                            Tensor gradient = onDevice(comm, 0, 0);
                            CountDownLatch computed = new CountDownLatch(1);
                            launch(framework, () -> await(computed));
                            launch(framework, () -> write(gradient, comm.rank(), 1));
                            Handle<Tensor> sum =
                                    comm.allreduceAsync(
                                            "g", gradient.readyOn(framework), ReduceOp.SUM);
                            // Work that the framework launches later does not delay the operation.
                            CountDownLatch later = new CountDownLatch(1);
                            launch(framework, () -> await(later));

                            assertThatThrownBy(() -> sum.join(Duration.ofMillis(30)))
                                    .isInstanceOf(OperationTimeoutException.class);
                            assertThat(sum.isDone()).isFalse();
                            computed.countDown();
                            assertThat(hostValues(comm, sum.join())).containsExactly(1, 2);
                            assertThat(sum.isDone()).isTrue();
                            later.countDown();
                        });
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void streamWaitsForTheResultInsteadOfTheProgram(boolean isGroup) {
        DeviceWorlds.of(2, fake)
                .run(
                        comm -> {
                            DeviceStream framework = stream(comm);
                            Tensor a = onDevice(comm, 0);
                            Tensor b = onDevice(comm, 0);
                            CountDownLatch computed = new CountDownLatch(1);
                            launch(framework, () -> await(computed));
                            launch(framework, () -> write(a, 1));
                            launch(framework, () -> write(b, comm.rank()));
                            List<Tensor> tensors =
                                    List.of(a.readyOn(framework), b.readyOn(framework));
                            Handle<List<Tensor>> sums =
                                    isGroup
                                            ? comm.groupedAllreduceAsync(
                                                    "group", tensors, ReduceOp.SUM)
                                            : Handle.allOf(
                                                    List.of(
                                                            comm.allreduceAsync(
                                                                    "a",
                                                                    tensors.get(0),
                                                                    ReduceOp.SUM),
                                                            comm.allreduceAsync(
                                                                    "b",
                                                                    tensors.get(1),
                                                                    ReduceOp.SUM)));
                            Handle<Integer> counted = sums.thenApply(List::size);
                            // Returns although nothing is computed yet.
                            assertThat(counted.awaitOn(framework)).isEqualTo(2);
                            assertThat(counted.isDone()).isFalse();

                            AtomicReference<float[]> seen = new AtomicReference<>();
                            launch(framework, () -> seen.set(new float[] {read(a)[0], read(b)[0]}));
                            CountDownLatch done = new CountDownLatch(1);
                            launch(framework, done::countDown);
                            computed.countDown();
                            done.await();
                            assertThat(seen.get()).containsExactly(2, 1);
                            assertThat(counted.join()).isEqualTo(2);
                            assertThat(counted.isDone()).isTrue();
                        });
    }

    /// A training loop that never waits on the CPU.
    @ParameterizedTest
    @ValueSource(strings = {"FAKE", "HOST"})
    void stepsFollowEachOtherOnStreams(String backend) {
        DeviceWorlds.of(2, fake)
                .with(Map.of("HOROVOD_GPU_OPERATIONS", backend))
                .run(
                        comm -> {
                            DeviceStream framework = stream(comm);
                            Tensor weight = onDevice(comm, 0);
                            List<Tensor> gradients =
                                    List.of(
                                            onDevice(comm, 0),
                                            onDevice(comm, 0),
                                            onDevice(comm, 0));
                            int steps = 50;
                            for (int step = 0; step < steps; step++) {
                                List<Handle<Tensor>> handles = new ArrayList<>();
                                for (int i = 0; i < gradients.size(); i++) {
                                    Tensor gradient = gradients.get(i);
                                    int own = i + comm.rank();
                                    launch(framework, () -> write(gradient, read(weight)[0] + own));
                                    handles.add(
                                            comm.allreduceAsync(
                                                    "g" + i,
                                                    gradient.readyOn(framework),
                                                    ReduceOp.AVERAGE));
                                }
                                handles.forEach(handle -> handle.awaitOn(framework));
                                launch(
                                        framework,
                                        () -> {
                                            float sum = 0;
                                            for (Tensor gradient : gradients) {
                                                sum += read(gradient)[0];
                                            }
                                            write(weight, read(weight)[0] + sum % 7);
                                        });
                            }
                            float expected = 0;
                            for (int step = 0; step < steps; step++) {
                                expected += (3 * expected + 4.5f) % 7;
                            }
                            CountDownLatch end = new CountDownLatch(1);
                            launch(framework, end::countDown);
                            end.await();
                            assertThat(read(weight)).containsExactly(expected);
                        });
    }

    @Test
    void lostRankEndsWorkThatWaitsForItOnTheDevice() {
        CountDownLatch launched = new CountDownLatch(1);
        World world = DeviceWorlds.of(2, fake);
        assertThatThrownBy(
                        () ->
                                world.run(
                                        comm -> {
                                            DeviceStream framework = stream(comm);
                                            if (comm.rank() == 1) {
                                                // its gradient is never computed
                                                launch(
                                                        framework,
                                                        () -> await(new CountDownLatch(1)));
                                            }
                                            Tensor tensor = onDevice(comm, 1);
                                            Handle<Tensor> sum =
                                                    comm.allreduceAsync(
                                                            "t",
                                                            tensor.readyOn(framework),
                                                            ReduceOp.SUM);
                                            sum.awaitOn(framework);
                                            if (comm.rank() == 1) {
                                                await(launched);
                                                throw new IllegalStateException("a fault");
                                            }
                                            launched.countDown();
                                            assertThatThrownBy(sum::join)
                                                    .isInstanceOf(PeerLostException.class)
                                                    .hasMessageContaining("a fault");
                                            assertThat(sum.failure()).isPresent();
                                            // The stream of the framework is not blocked any more.
                                            CountDownLatch end = new CountDownLatch(1);
                                            launch(framework, end::countDown);
                                            end.await();
                                            assertThatThrownBy(
                                                            () ->
                                                                    comm.allreduce(
                                                                            "next",
                                                                            onDevice(comm, 1),
                                                                            ReduceOp.SUM))
                                                    .isInstanceOf(PeerLostException.class);
                                        }))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("a fault")
                .satisfies(e -> assertThat(e.getSuppressed()).isEmpty());
        assertThat(fake.aborts()).contains(0);
    }

    @Test
    void rankThatIsLostBeforeTheLaunchIsReported() {
        assertThatThrownBy(
                        () ->
                                DeviceWorlds.of(2, fake)
                                        .run(
                                                comm -> {
                                                    comm.allreduce(
                                                            "t", onDevice(comm, 1), ReduceOp.SUM);
                                                    if (comm.rank() == 1) {
                                                        throw new IllegalStateException("a fault");
                                                    }
                                                    assertThatThrownBy(
                                                                    () ->
                                                                            comm.allreduce(
                                                                                    "t",
                                                                                    onDevice(
                                                                                            comm,
                                                                                            1),
                                                                                    ReduceOp.SUM))
                                                            .isInstanceOf(PeerLostException.class);
                                                }))
                .hasMessage("a fault")
                .satisfies(e -> assertThat(e.getSuppressed()).isEmpty());
        assertThat(fake.launches()).hasSize(2);
    }

    /// NCCL sees that a connection breaks before the launcher reports the loss.
    @Test
    void errorOfTheLibraryBecauseOfALostRankIsALoss() {
        CountDownLatch failed = new CountDownLatch(1);
        World world = DeviceWorlds.of(2, fake);
        assertThatThrownBy(
                        () ->
                                world.run(
                                        comm -> {
                                            DeviceStream framework = stream(comm);
                                            if (comm.rank() == 1) {
                                                launch(
                                                        framework,
                                                        () -> await(new CountDownLatch(1)));
                                            }
                                            Handle<Tensor> sum =
                                                    comm.allreduceAsync(
                                                            "t",
                                                            onDevice(comm, 1).readyOn(framework),
                                                            ReduceOp.SUM);
                                            sum.awaitOn(framework);
                                            if (comm.rank() == 1) {
                                                await(failed);
                                                throw new IllegalStateException("a fault");
                                            }
                                            fake.failAsynchronously(
                                                    new HorovodException("connection closed"));
                                            failed.countDown();
                                            assertThatThrownBy(sum::join)
                                                    .isInstanceOf(PeerLostException.class)
                                                    .hasMessageContaining("a fault");
                                        }))
                .hasMessage("a fault")
                .satisfies(e -> assertThat(e.getSuppressed()).isEmpty());
        assertThat(fake.aborts()).contains(0);
    }

    /// Any exception of a library ends operations, also one that a backend must not throw.
    static Stream<RuntimeException> asynchronousErrors() {
        return Stream.of(
                new HorovodException("unhandled system error"),
                new IllegalStateException("unhandled system error"));
    }

    @ParameterizedTest
    @MethodSource("asynchronousErrors")
    void asynchronousErrorOfTheLibraryEndsTheOperation(RuntimeException error) {
        CountDownLatch launched = new CountDownLatch(2);
        List<HorovodException> failures =
                DeviceWorlds.of(2, fake)
                        .call(
                                comm -> {
                                    DeviceStream framework = stream(comm);
                                    CountDownLatch never = new CountDownLatch(1);
                                    if (comm.rank() == 1) {
                                        launch(framework, () -> await(never));
                                    }
                                    Handle<Tensor> sum =
                                            comm.allreduceAsync(
                                                    "t",
                                                    onDevice(comm, 1).readyOn(framework),
                                                    ReduceOp.SUM);
                                    sum.awaitOn(framework);
                                    launched.countDown();
                                    await(launched);
                                    fake.failAsynchronously(error);
                                    HorovodException failure =
                                            assertThrows(HorovodException.class, sum::join);
                                    never.countDown();
                                    return failure;
                                });
        assertThat(failures)
                .allSatisfy(
                        failure ->
                                assertThat(failure).hasMessageContaining("unhandled system error"));
        assertThat(fake.aborts()).containsExactlyInAnyOrder(0, 1);
    }

    @Test
    void operationWaitsForTheStreamThatUsesItsOutput() {
        DeviceWorlds.of(2, fake)
                .run(
                        comm -> {
                            DeviceStream framework = stream(comm);
                            DeviceStream other = stream(comm);
                            Tensor input = onDevice(comm, 0);
                            Tensor output = onDevice(comm, 5);
                            CountDownLatch used = new CountDownLatch(1);
                            AtomicReference<float[]> seen = new AtomicReference<>();
                            launch(framework, () -> await(used));
                            launch(framework, () -> seen.set(read(output)));
                            launch(other, () -> write(input, 1));
                            Handle<Tensor> sum =
                                    comm.allreduceAsync(
                                            "t",
                                            input.readyOn(other),
                                            output.readyOn(framework),
                                            AllreduceOptions.sum());
                            assertThatThrownBy(() -> sum.join(Duration.ofMillis(30)))
                                    .isInstanceOf(OperationTimeoutException.class);
                            used.countDown();
                            assertThat(hostValues(comm, sum.join())).containsExactly(2);
                            assertThat(seen.get()).containsExactly(5);
                        });
    }

    /// Rank 0 launches nothing, so the work of rank 1 would wait for it forever.
    @Test
    void launchThatFailsIsAborted() {
        fake.beforeLaunch(
                (rank, _) -> {
                    if (rank == 0) {
                        throw new HorovodException("out of memory");
                    }
                });
        fake.afterLaunch(
                (_, _) -> {
                    throw new HorovodException("out of memory");
                });
        DeviceWorlds.of(2, fake)
                .run(
                        comm ->
                                assertThatThrownBy(
                                                () ->
                                                        comm.allreduce(
                                                                "t",
                                                                onDevice(comm, 1),
                                                                ReduceOp.SUM))
                                        .isInstanceOf(HorovodException.class)
                                        .hasMessageContaining("out of memory"));
        assertThat(fake.aborts()).contains(0, 1);
    }

    /// Rank 0 waits in the launch itself, as NCCL does when it connects.
    @Test
    void lostRankEndsAWaitInsideALaunch() {
        fake.beforeLaunch(
                (rank, isAborted) -> {
                    if (rank == 1) {
                        throw new HorovodException("out of memory");
                    }
                    while (!isAborted.getAsBoolean()) {
                        LockSupport.parkNanos(100_000);
                    }
                    throw new HorovodException("aborted");
                });
        DeviceWorlds.of(2, fake)
                .run(
                        comm ->
                                assertThatThrownBy(
                                                () ->
                                                        comm.allreduce(
                                                                "t",
                                                                onDevice(comm, 1),
                                                                ReduceOp.SUM))
                                        .isInstanceOf(
                                                comm.rank() == 0
                                                        ? PeerLostException.class
                                                        : HorovodException.class)
                                        .hasMessageContaining("out of memory"));
        assertThat(fake.aborts()).contains(0, 1);
    }

    @Test
    void everyBackendIsAbortedIfAnAbortFails() {
        CountDownLatch launched = new CountDownLatch(2);
        FakeBackendProvider second = new FakeBackendProvider("SECOND");
        DeviceWorlds.of(2, fake, second)
                .with(
                        Map.of(
                                "HOROVOD_GPU_ALLREDUCE", "FAKE",
                                "HOROVOD_GPU_BROADCAST", "SECOND"))
                .run(
                        comm -> {
                            comm.allreduce("a", onDevice(comm, 1), ReduceOp.SUM);
                            comm.broadcast("b", onDevice(comm, 1), 0);
                            fake.failAborts("cannot abort");
                            second.failAborts("cannot abort");
                            DeviceStream framework = stream(comm);
                            CountDownLatch never = new CountDownLatch(1);
                            launch(framework, () -> await(never));
                            Handle<Tensor> sum =
                                    comm.allreduceAsync(
                                            "t",
                                            onDevice(comm, 1).readyOn(framework),
                                            ReduceOp.SUM);
                            sum.awaitOn(framework);
                            launched.countDown();
                            await(launched);
                            fake.failAsynchronously(new HorovodException("system error"));
                            assertThatThrownBy(sum::join).isInstanceOf(HorovodException.class);
                            never.countDown();
                        });
        assertThat(fake.aborts()).contains(0, 1);
        assertThat(second.aborts()).contains(0, 1);
    }
}

package org.horovod4j.runtime.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.horovod4j.testing.DeviceWorlds.hostValues;
import static org.horovod4j.testing.DeviceWorlds.launch;
import static org.horovod4j.testing.DeviceWorlds.onDevice;
import static org.horovod4j.testing.DeviceWorlds.stream;

import org.horovod4j.Communicator;
import org.horovod4j.DeviceStream;
import org.horovod4j.Handle;
import org.horovod4j.PeerLostException;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.elastic.ObjectState;
import org.horovod4j.testing.DeviceWorlds;
import org.horovod4j.testing.FakeBackendProvider;
import org.horovod4j.testing.World;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;

/// An elastic training on fake devices: two generations of the same workers, one of which is lost.
class DeviceGenerationsTest {
    private final FakeBackendProvider fake = new FakeBackendProvider("FAKE");

    /// The workers by number, each with the weights it trains.
    private final List<float[]> weights = List.of(new float[1], new float[1], new float[1]);

    private final List<ObjectState> states =
            weights.stream()
                    .map(each -> new ObjectState().with("weights", each).with("step", 0))
                    .toList();

    private World generation(String backend, int size) {
        return DeviceWorlds.of(size, fake).with(Map.of("HOROVOD_GPU_OPERATIONS", backend));
    }

    @ParameterizedTest
    @ValueSource(strings = {"FAKE", "HOST"})
    void survivorsContinueFromTheLastCommit(String backend) {
        assertThatThrownBy(() -> generation(backend, 3).run(this::trainUntilTheLoss))
                .hasMessage("a fault")
                .satisfies(e -> assertThat(e.getSuppressed()).isEmpty());
        int backends = backend.equals("FAKE") ? 3 : 0;
        assertThat(fake.closed()).as("backends of the first generation").hasSize(backends);

        generation(backend, 2).run(comm -> train(comm, 10));
        assertThat(Stream.of(0, 1).map(worker -> weights.get(worker)[0])).containsOnly(10f);
        assertThat(fake.closed()).as("with those of the second").hasSize(backends * 5 / 3);
    }

    private void trainUntilTheLoss(Communicator comm) {
        train(comm, 4);
        ObjectState state = states.get(comm.rank());
        float[] values = weights.get(comm.rank());
        DeviceStream framework = stream(comm);
        if (comm.rank() == 2) {
            launch(framework, DeviceGenerationsTest::neverEnds);
        }
        Handle<Tensor> pending =
                comm.allreduceAsync("t", onDevice(comm, 1).readyOn(framework), ReduceOp.AVERAGE);
        if (comm.rank() == 2) {
            throw new IllegalStateException("a fault");
        }
        values[0] = -1; // the step has changed a part of the weights
        assertThatThrownBy(pending::join).isInstanceOf(PeerLostException.class);
        state.restore();
        assertThat(values).containsExactly(4);
    }

    /// Each step adds 1.
    private void train(Communicator comm, int steps) {
        ObjectState state = states.get(comm.rank());
        while (state.getInt("step") < steps) {
            Tensor gradient = onDevice(comm, 1);
            comm.allreduce("t", gradient, ReduceOp.AVERAGE);
            weights.get(comm.rank())[0] += hostValues(comm, gradient)[0];
            state.set("step", state.getInt("step") + 1);
            state.commit();
        }
    }

    private static void neverEnds() {
        try {
            new CountDownLatch(1).await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}

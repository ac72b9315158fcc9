package org.horovod4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/// Tests the facade in a process without a launcher: a world of one rank.
class HvdTest {
    @AfterEach
    void leave() {
        Hvd.shutdown();
    }

    @Test
    void callsBeforeInitFail() {
        assertThat(Hvd.isInitialized()).isFalse();
        assertThatThrownBy(Hvd::rank)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("Hvd.init()");
        assertThatThrownBy(() -> Hvd.allreduce("t", new float[] {1}, ReduceOp.SUM))
                .isInstanceOf(IllegalStateException.class);
    }

    @Test
    void initWithoutLauncherMakesOneRank() {
        Hvd.init();
        Hvd.init();
        assertThat(Hvd.isInitialized()).isTrue();
        assertThat(Hvd.rank()).isEqualTo(0);
        assertThat(Hvd.size()).isEqualTo(1);
        assertThat(Hvd.localRank()).isEqualTo(0);
        assertThat(Hvd.localSize()).isEqualTo(1);
        assertThat(Hvd.crossRank()).isEqualTo(0);
        assertThat(Hvd.crossSize()).isEqualTo(1);
        assertThat(Hvd.isHomogeneous()).isTrue();
    }

    @Test
    void everyCollectiveWorksOnOneRank() {
        Hvd.init();
        float[] tensor = {1, 2};
        Hvd.allreduce("t", tensor, ReduceOp.AVERAGE);
        assertThat(tensor).containsExactly(1, 2);
        assertThat(Hvd.allgather("t", Tensor.of(tensor)).toFloatArray()).containsExactly(1, 2);
        assertThat(Hvd.broadcast("t", Tensor.of(tensor), 0).toFloatArray()).containsExactly(1, 2);
        assertThat(Hvd.communicator().alltoall("t", Tensor.of(tensor)).toFloatArray())
                .containsExactly(1, 2);
        assertThat(Hvd.communicator().reducescatter("t", Tensor.of(tensor), ReduceOp.SUM))
                .extracting(Tensor::shape)
                .isEqualTo(Shape.of(2));
        assertThat(Hvd.communicator().allgatherObject("o", "text")).isEqualTo(List.of("text"));
        Hvd.barrier();
    }

    @Test
    void initAfterCommunicatorCloseRejoins() {
        Hvd.init();
        Hvd.communicator().close();
        assertThat(Hvd.isInitialized()).isFalse();
        Hvd.init();
        Hvd.barrier();
    }

    @Test
    void settingsTakeThePlaceOfTheEnvironment(@TempDir Path folder) throws IOException {
        Path trace = folder.resolve("trace.json");
        Hvd.init(Map.of("HOROVOD_TIMELINE", trace.toString()));
        Hvd.init(Map.of()); // without effect, as long as this process is in a job
        Hvd.shutdown();
        assertThat(Files.deleteIfExists(trace)).isTrue();
        Hvd.init(); // with the same settings
        Hvd.shutdown();
        assertThat(Files.deleteIfExists(trace)).isTrue();
        Hvd.init(Map.of());
        Hvd.shutdown();
        assertThat(trace).doesNotExist();
    }

    @Test
    void configureSetsTheOptionsOfTheNextInit(@TempDir Path folder) throws IOException {
        Path trace = folder.resolve("trace.json");
        Hvd.configure(Map.of("HOROVOD_TIMELINE", trace.toString()));
        assertThat(Hvd.isInitialized()).isFalse();
        Hvd.init();
        assertThatThrownBy(() -> Hvd.configure(Map.of()))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("call Hvd.shutdown() before");
        Hvd.shutdown();
        assertThat(Files.deleteIfExists(trace)).isTrue();
        Hvd.configure(Map.of());
        Hvd.init();
        Hvd.shutdown();
        assertThat(trace).doesNotExist();
    }

    @Test
    void unknownSettingIsRefused() {
        assertThatThrownBy(() -> Hvd.init(Map.of("HOROVOD_RNAK", "1")))
                .isInstanceOf(ConfigurationException.class)
                .hasMessage(
                        "HOROVOD_RNAK: Horovod4J has no such option. Did you mean HOROVOD_RANK?");
        assertThat(Hvd.isInitialized()).isFalse();
    }

    /// One static method for each method of a communicator, with the same parameters and result.
    @Test
    void hvdMirrorsTheCommunicator() {
        Set<String> others = Set.of("close", "isOpen"); // shutdown and isInitialized
        List<String> missing = new ArrayList<>();
        for (Method method : Communicator.class.getDeclaredMethods()) {
            if (Modifier.isStatic(method.getModifiers()) || others.contains(method.getName())) {
                continue;
            }
            try {
                Method mirror = Hvd.class.getMethod(method.getName(), method.getParameterTypes());
                assertThat(Modifier.isStatic(mirror.getModifiers())).isTrue();
                assertThat(mirror.getGenericReturnType().toString())
                        .isEqualTo(method.getGenericReturnType().toString());
                assertThat(mirror.isVarArgs()).isEqualTo(method.isVarArgs());
            } catch (NoSuchMethodException e) {
                missing.add(method.toString());
            }
        }
        assertThat(missing).isEmpty();
    }

    @Test
    void arraysOfAllTypesAreAccepted() {
        Hvd.init();
        float[] floats = {1, 2};
        Hvd.allreduce("t", floats, ReduceOp.SUM);
        Hvd.broadcast("t", floats, 0);
        assertThat(Hvd.allgather("t", floats)).containsExactly(1, 2);
        double[] doubles = {1, 2};
        Hvd.allreduce("t", doubles, ReduceOp.SUM);
        Hvd.broadcast("t", doubles, 0);
        assertThat(Hvd.allgather("t", doubles)).containsExactly(1, 2);
        int[] ints = {1, 2};
        Hvd.allreduce("t", ints, ReduceOp.SUM);
        Hvd.broadcast("t", ints, 0);
        assertThat(Hvd.allgather("t", ints)).containsExactly(1, 2);
        long[] longs = {1, 2};
        Hvd.allreduce("t", longs, ReduceOp.SUM);
        Hvd.broadcast("t", longs, 0);
        assertThat(Hvd.allgather("t", longs)).containsExactly(1, 2);
        byte[] bytes = {1, 2};
        Hvd.allreduce("t", bytes, ReduceOp.SUM);
        Hvd.broadcast("t", bytes, 0);
        assertThat(Hvd.allgather("t", bytes)).containsExactly(1, 2);
    }

    @Test
    void interruptedThreadCompletesAllreduceAndStaysInterrupted() {
        Hvd.init();
        Thread.currentThread().interrupt();
        Hvd.barrier();
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void emptyTensorNameIsRejected() {
        Hvd.init();
        assertThatThrownBy(() -> Hvd.allreduce("", new float[] {1}, ReduceOp.SUM))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("name");
    }

    @Test
    void allocateAfterShutdownFails() {
        Hvd.init();
        Communicator communicator = Hvd.communicator();
        Hvd.shutdown();
        assertThatThrownBy(() -> communicator.allocate(DataType.INT8, Shape.of(1)))
                .isInstanceOf(ShutDownException.class);
    }

    @Test
    void initAfterShutdownRejoins() {
        Hvd.init();
        Communicator first = Hvd.communicator();
        Hvd.shutdown();
        Hvd.shutdown();
        assertThat(Hvd.isInitialized()).isFalse();
        assertThatThrownBy(first::barrier).isInstanceOf(ShutDownException.class);
        Hvd.init();
        assertThat(Hvd.size()).isEqualTo(1);
        Hvd.barrier();
    }
}

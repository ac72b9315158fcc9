package org.horovod4j.option;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import org.horovod4j.ConfigurationException;
import org.horovod4j.runtime.HvdRuntime;
import org.horovod4j.testing.World;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

class FrameworkSettingsTest {
    @Test
    void gradientHooksDefaultToAuto() {
        assertThat(settings(Map.of()).gradientHooks()).isEqualTo(HookChoice.AUTO);
        assertThat(settings(Map.of("HOROVOD_GRADIENT_HOOKS", "off")).gradientHooks())
                .isEqualTo(HookChoice.OFF);
    }

    @ParameterizedTest(name = "OMP_NUM_THREADS {0}: {1}")
    @CsvSource({
        "3, 3",
        "'4,2', 4",
        "' 4 , 2', 4",
        // OpenMP ignores these
        "'', ",
        "0, ",
        "-1, ",
        "many, ",
        "99999999999, ",
    })
    void openMpThreadsAreTheFirstNumber(String variable, @Nullable Integer threads) {
        OptionalInt expected = threads == null ? OptionalInt.empty() : OptionalInt.of(threads);
        assertThat(settings(Map.of("OMP_NUM_THREADS", variable)).openMpThreads())
                .isEqualTo(expected);
    }

    /// `mpirun` passes the list of its own process to all ranks.
    @Test
    void oneVisibleGpuIsThatOfTheRankUnlessMpiStartsIt() {
        assertThat(settings(Map.of("CUDA_VISIBLE_DEVICES", "3")).ownsGpus()).isTrue();
        assertThat(settings(Map.of("CUDA_VISIBLE_DEVICES", "3,4")).ownsGpus()).isFalse();
        for (String rank : List.of("OMPI_COMM_WORLD_RANK", "PMI_RANK")) {
            Map<String, String> mpi = Map.of("CUDA_VISIBLE_DEVICES", "0", rank, "1");
            assertThat(settings(mpi).ownsGpus()).isFalse();
        }
        assertThat(
                        settings(
                                        Map.of(
                                                "CUDA_VISIBLE_DEVICES",
                                                "0",
                                                "PMI_RANK",
                                                "1",
                                                "SLURM_PROCID",
                                                "1"))
                                .ownsGpus())
                .isTrue();
    }

    @Test
    void communicatorHasSettingsOfItsRank() {
        World.run(
                2,
                comm ->
                        assertThat(FrameworkSettings.of(comm))
                                .isEqualTo(FrameworkSettings.DEFAULT));
    }

    private static FrameworkSettings settings(Map<String, String> variables) {
        return FrameworkSettings.from(new Environment(variables));
    }

    /// Not later, when an adapter uses the value.
    @Test
    void invalidValueFailsInit() {
        assertThatExceptionOfType(ConfigurationException.class)
                .isThrownBy(() -> new HvdRuntime(Map.of("HOROVOD_GRADIENT_HOOKS", "perhaps")))
                .withMessageContaining("HOROVOD_GRADIENT_HOOKS");
    }
}

package org.horovod4j.option;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import org.horovod4j.ConfigurationException;
import org.horovod4j.runtime.HvdRuntime;
import org.junit.jupiter.api.Test;

import java.util.Map;

class FrameworkSettingsTest {
    @Test
    void gradientHooksDefaultToAuto() {
        assertThat(settings(Map.of()).gradientHooks()).isEqualTo(HookChoice.AUTO);
        assertThat(settings(Map.of("HOROVOD_GRADIENT_HOOKS", "off")).gradientHooks())
                .isEqualTo(HookChoice.OFF);
    }

    private static FrameworkSettings settings(Map<String, String> variables) {
        return FrameworkSettings.from(new Environment(variables));
    }

    /// And not when an adapter first wants it.
    @Test
    void invalidValueFailsInit() {
        assertThatExceptionOfType(ConfigurationException.class)
                .isThrownBy(() -> new HvdRuntime(Map.of("HOROVOD_GRADIENT_HOOKS", "perhaps")))
                .withMessageContaining("HOROVOD_GRADIENT_HOOKS");
    }
}

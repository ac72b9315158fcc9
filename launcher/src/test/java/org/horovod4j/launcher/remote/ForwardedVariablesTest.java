package org.horovod4j.launcher.remote;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.Map;

class ForwardedVariablesTest {
    @ParameterizedTest
    @ValueSource(
            strings = {
                "PATH",
                "PWD",
                "JAVA_HOME",
                "LANG",
                "OMP_NUM_THREADS",
                "HOROVOD_X",
                "TMPDIR"
            })
    void ordinaryVariablesAreForwarded(String name) {
        assertThat(ForwardedVariables.of(Map.of(name, "value"))).containsEntry(name, "value");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "BASH_FUNC_module%%",
                "OLDPWD",
                "CUDA_VISIBLE_DEVICES",
                "MY_CUDA_VISIBLE_DEVICES",
                "SSH_AUTH_SOCK",
                "SSH_CONNECTION",
                "DISPLAY",
                "XAUTHORITY",
                "XDG_SESSION_ID",
                "HOSTNAME",
                "HOME",
                "USER",
                "HOROVOD_SECRET_KEY",
                "HOROVOD_SECRET_FILE"
            })
    void machineAndSessionVariablesAreNotForwarded(String name) {
        assertThat(ForwardedVariables.of(Map.of(name, "value"))).isEmpty();
    }
}

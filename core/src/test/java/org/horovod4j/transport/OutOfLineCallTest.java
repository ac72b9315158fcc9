package org.horovod4j.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

class OutOfLineCallTest {
    @Test
    void targetGetsTheArgument() {
        List<String> arguments = new ArrayList<>();
        new OutOfLineCall<String>(arguments::add).call("argument");
        assertThat(arguments).containsExactly("argument");
    }

    @Test
    void exceptionOfTheTargetReachesTheCaller() {
        IllegalStateException expected = new IllegalStateException("expected");
        OutOfLineCall<String> call =
                new OutOfLineCall<>(
                        _ -> {
                            throw expected;
                        });
        assertThatThrownBy(() -> call.call("argument")).isSameAs(expected);
    }
}

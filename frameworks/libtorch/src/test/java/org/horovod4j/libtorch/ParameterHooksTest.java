package org.horovod4j.libtorch;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

class ParameterHooksTest {
    /// Three parameters, the last one frozen.
    private static final class Parameters implements ParameterHooks.Target {
        private final int[] ids = {1, 2, 3};
        private final boolean[] isTrainable = {true, true, false};
        private final List<Integer> asked = new ArrayList<>();
        private final List<Integer> attached = new ArrayList<>();
        private final List<Integer> removed = new ArrayList<>();

        @Override
        public int count() {
            return ids.length;
        }

        @Override
        public boolean requiresGradient(int parameter) {
            asked.add(parameter);
            return isTrainable[parameter];
        }

        @Override
        public Object tensorId(int parameter) {
            return ids[parameter];
        }

        @Override
        public HookRegistration attach(int parameter, Runnable hook) {
            attached.add(parameter);
            return new HookRegistration() {
                @Override
                public void rethrow() {}

                @Override
                public void close() {
                    removed.add(parameter);
                }
            };
        }
    }

    @Test
    void newAndUnfrozenTensorsGetHooks() {
        Parameters parameters = new Parameters();
        try (ParameterHooks hooks = new ParameterHooks(parameters, _ -> {})) {
            hooks.attachNew();
            assertThat(parameters.attached).containsExactly(0, 1);
            parameters.ids[0] = 7;
            parameters.isTrainable[2] = true;
            hooks.attachNew();
            assertThat(parameters.attached).containsExactly(0, 1, 0, 2);
            assertThat(parameters.removed).containsExactly(0);
        }
        assertThat(parameters.removed).containsExactly(0, 0, 1, 2);
    }

    /// libtorch is not called in every step.
    @Test
    void onlyParametersWithoutHookAreAsked() {
        Parameters parameters = new Parameters();
        try (ParameterHooks hooks = new ParameterHooks(parameters, _ -> {})) {
            hooks.attachNew();
            parameters.asked.clear();
            hooks.attachNew();
            assertThat(parameters.asked).containsExactly(2);
        }
    }
}

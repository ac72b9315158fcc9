package org.horovod4j.optim;

import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class HookFailuresTest {
    private final RuntimeException inHook = new IllegalStateException("in a hook");
    private final RuntimeException inReduction = new IllegalStateException("reduction");

    private static void fail(RuntimeException failure) {
        throw failure;
    }

    @Test
    void failureOfHookIsThrownAfterReduction() {
        boolean[] isReduced = {false};
        HookFailures failures = new HookFailures(() -> fail(isReduced[0] ? inHook : inReduction));
        assertThatThrownBy(() -> failures.throwAfter(() -> isReduced[0] = true)).isSameAs(inHook);
        assertThatNoException().isThrownBy(() -> new HookFailures(() -> {}).throwAfter(() -> {}));
    }

    @Test
    void failureOfReductionHasThoseOfHooks() {
        RuntimeException failure = new IllegalStateException("peer lost");
        HookFailures same = new HookFailures(() -> fail(failure));
        assertThatThrownBy(() -> same.throwAfter(() -> fail(failure)))
                .isSameAs(failure)
                .hasNoSuppressedExceptions();
        HookFailures other = new HookFailures(() -> fail(inHook));
        assertThatThrownBy(() -> other.throwAfter(() -> fail(failure)))
                .isSameAs(failure)
                .hasSuppressedException(inHook);
    }
}

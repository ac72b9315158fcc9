package org.horovod4j.djl.engine;

import ai.djl.ndarray.NDArray;

import org.horovod4j.libtorch.HookRegistration;

import java.lang.foreign.MemorySegment;
import java.util.function.Consumer;

/// Hooks that the engine calls during backward, or the reason why there are none.
public sealed interface BackwardHooks {
    /// The engine has hooks.
    non-sealed interface Available extends BackwardHooks {
        /// Calls `hook` each time after backward has accumulated the gradient of `parameter`, on the
        /// thread that runs backward. The parameters of the last layer come first. A parameter has one
        /// hook: a second one replaces the first.
        ///
        /// @return the caller keeps it: the hook is removed when it is garbage-collected
        HookRegistration onGradient(NDArray parameter, Runnable hook);

        /// Whether backward computes a gradient for `array`: a trainable parameter, or a result computed
        /// from one.
        boolean requiresGradient(NDArray array);

        /// Lets `change` alter the gradient of `array`, an intermediate result, before backward uses it.
        /// `change` is called on the thread that runs backward, with a copy of the gradient that it may
        /// write to. It is kept as long as the graph of the computation.
        ///
        /// When it fails, or the gradient cannot be copied, the gradient becomes NaN, and
        /// [EngineAccess#rethrow] throws the exception. If the gradient cannot be copied, `change` is
        /// still called, with NaN, since it may be a collective that other ranks wait for.
        ///
        /// @throws IllegalArgumentException when backward computes no gradient for `array`
        void transformGradient(NDArray array, Consumer<MemorySegment> change);
    }

    /// The engine has no hooks.
    ///
    /// @param reason why not, for users
    record Unavailable(String reason) implements BackwardHooks {}
}

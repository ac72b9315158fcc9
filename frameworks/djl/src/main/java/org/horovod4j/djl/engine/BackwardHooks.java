package org.horovod4j.djl.engine;

import ai.djl.ndarray.NDArray;

import org.horovod4j.libtorch.HookRegistration;

import java.lang.foreign.MemorySegment;
import java.util.function.Consumer;

/// Whether backward calls us, and how to be called.
public sealed interface BackwardHooks {
    /// Backward calls.
    non-sealed interface Available extends BackwardHooks {
        /// Calls `hook` after each time that backward has added to the gradient of `parameter`, on
        /// the thread that runs backward. The last layer's parameters come first. A parameter has
        /// one hook; another takes its place.
        ///
        /// @return to be held as long as the hook is wanted: it goes when nobody does
        HookRegistration onGradient(NDArray parameter, Runnable hook);

        /// Whether backward comes by `array`: a parameter that is trained, or what was computed
        /// from one.
        boolean requiresGradient(NDArray array);

        /// Lets `change` alter the gradient of `array`, which is no parameter but the result of a
        /// computation, before backward passes it on. It is called on the thread that runs
        /// backward, with the elements of a copy that it may write to, and lives as long as the
        /// computation's graph.
        ///
        /// When it fails, or the gradient cannot be copied, the gradient becomes NaN: backward
        /// cannot be told, and must not go on with one that looks right. [EngineAccess#rethrow]
        /// tells of it. A change to a gradient that cannot be copied is called all the same, with
        /// NaN, as ranks change them together.
        ///
        /// @throws IllegalArgumentException when backward will not come by `array`
        void transformGradient(NDArray array, Consumer<MemorySegment> change);
    }

    /// Backward does not call.
    ///
    /// @param reason why not, for people
    record Unavailable(String reason) implements BackwardHooks {}
}

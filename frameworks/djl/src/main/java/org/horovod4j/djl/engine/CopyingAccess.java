package org.horovod4j.djl.engine;

import ai.djl.ndarray.NDArray;

import org.horovod4j.SparseTensor;
import org.horovod4j.option.HookChoice;

import java.lang.foreign.MemorySegment;
import java.util.Optional;

/// Access to any engine through DJL's API only: every access copies.
final class CopyingAccess implements EngineAccess {
    private final String engineName;
    private final boolean accumulates;
    private final BackwardHooks backwardHooks;

    /// @param accumulates whether backward passes add to gradients
    /// @param reason why there is no access to memory and hooks
    CopyingAccess(String engineName, boolean accumulates, String reason) {
        this.engineName = engineName;
        this.accumulates = accumulates;
        this.backwardHooks = new BackwardHooks.Unavailable(reason);
    }

    @Override
    public Optional<MemorySegment> memory(NDArray array) {
        return Optional.empty();
    }

    @Override
    public boolean moveInto(NDArray array, MemorySegment memory) {
        CopyCheck.requireSameSize("moveInto", array, memory);
        return false;
    }

    /// Arrays of DJL's API are computed when they are returned.
    @Override
    public void await(NDArray array) {}

    @Override
    public Optional<SparseTensor> sparse(NDArray array) {
        if (array.isSparse()) {
            throw new UnsupportedOperationException(
                    "the rows of a sparse array of engine %s cannot be read; make it dense first"
                            .formatted(engineName));
        }
        return Optional.empty();
    }

    @Override
    public boolean accumulates() {
        return accumulates;
    }

    @Override
    public BackwardHooks hooks(HookChoice choice) {
        return backwardHooks;
    }
}

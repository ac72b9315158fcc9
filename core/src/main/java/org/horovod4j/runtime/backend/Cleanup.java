package org.horovod4j.runtime.backend;

import org.jspecify.annotations.Nullable;

/// Runs all steps of a cleanup, also after one has failed.
public final class Cleanup {
    private @Nullable Throwable first;

    public Cleanup() {}

    /// A cleanup after a failure, to which those of the steps are added.
    public Cleanup(Throwable failure) {
        this.first = failure;
    }

    public void run(Runnable step) {
        try {
            step.run();
        } catch (RuntimeException | Error e) {
            if (first == null) {
                first = e;
            } else {
                first.addSuppressed(e);
            }
        }
    }

    /// Throws the first failure, if there was one.
    public void end() {
        switch (first) {
            case RuntimeException e -> throw e;
            case Error e -> throw e;
            case null, default -> {}
        }
    }
}

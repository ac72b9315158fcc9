package org.horovod4j.runtime;

import org.horovod4j.DataType;
import org.horovod4j.Shape;
import org.horovod4j.ShutDownException;
import org.horovod4j.Tensor;
import org.horovod4j.runtime.controller.WorldState;
import org.horovod4j.runtime.cycle.OperationQueue;
import org.horovod4j.spi.Backend;
import org.horovod4j.spi.ControlPlane;

/// The end of a rank: how it leaves its world, asked to or not.
final class Lifecycle implements AutoCloseable {
    private final WorldState state;
    private final OperationQueue queue;
    private final ControlPlane control;
    private final Backend backend;
    private volatile boolean closed;

    Lifecycle(WorldState state, OperationQueue queue, ControlPlane control, Backend backend) {
        this.state = state;
        this.queue = queue;
        this.control = control;
        this.backend = backend;
    }

    boolean isClosed() {
        return closed;
    }

    Tensor allocate(DataType dataType, Shape shape) {
        if (closed) {
            throw new ShutDownException("this rank has called shutdown and has no memory to share");
        }
        return backend.allocate(dataType, shape);
    }

    /// Leaves because the program says so. What is under way here fails; what others have completed
    /// with this rank stays good.
    @Override
    public void close() {
        leave(true, "called shutdown");
    }

    /// Leaves because the process ends, or because the rank failed.
    void abandon(String reason) {
        leave(false, reason);
    }

    private synchronized void leave(boolean orderly, String reason) {
        if (closed) {
            return;
        }
        closed = true;
        state.stop();
        control.stop();
        queue.close();
        control.leave(state.completed(), orderly, reason);
        control.close();
        backend.close();
    }
}

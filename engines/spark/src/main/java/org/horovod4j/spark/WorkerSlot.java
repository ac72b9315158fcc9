package org.horovod4j.spark;

import org.apache.spark.api.java.JavaFutureAction;
import org.horovod4j.launcher.driver.Worker;
import org.horovod4j.spark.TaskServer.ConnectedTask;
import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.List;

/// A task of an elastic job, on the driver: a slot in which workers run. Part of [WorkerSlots].
final class WorkerSlot {
    private final int index;
    private final JavaFutureAction<List<Object>> job;
    private @Nullable ConnectedTask task;
    private String host = "";
    private int slot = -1;
    private @Nullable Worker worker;
    private Duration idleSince = Duration.ZERO;
    private boolean hasResult;

    WorkerSlot(int index, JavaFutureAction<List<Object>> job) {
        this.index = index;
        this.job = job;
    }

    int index() {
        return index;
    }

    JavaFutureAction<List<Object>> job() {
        return job;
    }

    /// The executor has started it.
    ///
    /// @param atHost one name for all that Spark knows the machine by
    /// @param atSlot among the worker slots of the machine
    void connected(ConnectedTask connected, String atHost, int atSlot, Duration now) {
        task = connected;
        host = atHost;
        slot = atSlot;
        idleSince = now;
    }

    void disconnected() {
        task = null;
    }

    boolean isConnected() {
        return task != null;
    }

    boolean isOn(String name, int number) {
        return isConnected() && host.equals(name) && slot == number;
    }

    boolean isInExecutor(String executor) {
        return task != null && task.hello().executor().equals(executor);
    }

    String host() {
        return host;
    }

    int slot() {
        return slot;
    }

    boolean runs(Worker other) {
        return other.equals(worker);
    }

    boolean isIdle() {
        return isConnected() && worker == null;
    }

    /// Whether it has had no worker for this long.
    boolean isIdleFor(Duration limit, Duration now) {
        return isIdle() && now.minus(idleSince).compareTo(limit) > 0;
    }

    void start(Worker next, TaskMessage.Start start) {
        worker = next;
        if (task != null) {
            task.start(start);
        }
    }

    /// Its worker has ended.
    ///
    /// @return the worker, if there was one
    @Nullable Worker workerEnded(Duration now) {
        Worker ended = worker;
        worker = null;
        idleSince = now;
        return ended;
    }

    /// The function has returned on a worker that took part until the end.
    void resultKept() {
        hasResult = true;
    }

    boolean hasResult() {
        return hasResult;
    }

    void stop(String reason) {
        if (task != null) {
            task.stop(reason);
        }
    }
}

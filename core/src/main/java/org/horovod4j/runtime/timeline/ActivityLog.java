package org.horovod4j.runtime.timeline;

import org.horovod4j.spi.Activity;
import org.horovod4j.spi.ActivityRecorder;
import org.jspecify.annotations.Nullable;

/// Passes on what the backend of a process set tells of the operation that runs there, while one is
/// recorded.
///
/// Used by the thread that runs operations.
public final class ActivityLog implements ActivityRecorder {
    /// A large operation goes round and round in the same way: the first rounds tell all there is
    /// to see, and thousands of them would make a file that nobody can open.
    static final int MAX_ACTIVITIES = 200;

    private final Recorder recorder;
    private @Nullable Collective running;
    private int left;

    public ActivityLog(Recorder recorder) {
        this.recorder = recorder;
    }

    /// What is told from now on belongs to `collective`.
    public void open(Collective collective) {
        running = collective;
        left = MAX_ACTIVITIES;
    }

    public void close() {
        running = null;
    }

    @Override
    public long begin() {
        return running == null || left == 0 ? 0 : System.nanoTime();
    }

    @Override
    public long end(Activity activity, long since) {
        Collective collective = running;
        if (since == 0 || collective == null || left == 0) {
            return 0;
        }
        left--;
        long now = System.nanoTime();
        recorder.activity(collective, activity.name(), since, now);
        return now;
    }
}

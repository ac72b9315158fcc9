package org.horovod4j.runtime.timeline;

import org.horovod4j.spi.Activity;
import org.horovod4j.spi.ActivityRecorder;
import org.jspecify.annotations.Nullable;

/// Passes the activities of a backend to the recorder, while a batch is recorded.
///
/// Used only by the thread that runs batches.
public final class ActivityLog implements ActivityRecorder {
    /// The activities of a large batch repeat: the first ones show all there is to see, and
    /// thousands would make a file too large to open.
    static final int MAX_ACTIVITIES = 200;

    private final Recorder recorder;
    private @Nullable Collective running;
    private int left;

    public ActivityLog(Recorder recorder) {
        this.recorder = recorder;
    }

    /// Later activities belong to `collective`.
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
        return record(activity.name(), since);
    }

    /// Records an activity that has no constant, as that of a backend which was found at run time. See
    /// [#end].
    public long record(String activity, long since) {
        Collective collective = running;
        if (since == 0 || collective == null || left == 0) {
            return 0;
        }
        left--;
        long now = System.nanoTime();
        recorder.activity(collective, activity, since, now);
        return now;
    }
}

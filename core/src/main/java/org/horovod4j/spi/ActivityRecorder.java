package org.horovod4j.spi;

/// Records how long each [Activity] of a collective takes. A backend calls it.
///
/// While recording is off, each call costs one memory read and does not read the clock:
///
/// ```
/// long since = activities.begin();
/// pack();
/// since = activities.end(Activity.MEMCPY_IN_FUSION_BUFFER, since);
/// barrier();
/// since = activities.end(Activity.WAIT_FOR_DATA, since);
/// ```
public interface ActivityRecorder {
    /// Records nothing.
    ActivityRecorder NONE =
            new ActivityRecorder() {
                @Override
                public long begin() {
                    return 0;
                }

                @Override
                public long end(Activity activity, long since) {
                    return 0;
                }
            };

    /// The current [System#nanoTime], or 0 while recording is off.
    long begin();

    /// Records that `activity` lasted from `since` until now.
    ///
    /// @param since when it started; 0 records nothing
    /// @return the start of the next activity: now, or 0 while recording is off
    long end(Activity activity, long since);
}

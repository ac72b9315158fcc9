package org.horovod4j.spi;

/// Is told by a backend what an operation spends its time on.
///
/// While nobody records, both methods cost a read of memory, and the clock is not asked:
///
/// ```
/// long since = activities.begin();
/// pack();
/// since = activities.end(Activity.MEMCPY_IN_FUSION_BUFFER, since);
/// meet();
/// since = activities.end(Activity.WAIT_FOR_DATA, since);
/// ```
public interface ActivityRecorder {
    /// Tells nobody.
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

    /// The time by [System#nanoTime], or 0 while nobody wants to know.
    long begin();

    /// Notes that `activity` went on until now.
    ///
    /// @param since when it began; nothing is noted for 0
    /// @return when the next one begins: now, or 0
    long end(Activity activity, long since);
}

/// Logging: `HOROVOD_LOG_LEVEL` and `HOROVOD_LOG_HIDE_TIME` take effect without any setup. An
/// application that has configured its own logging keeps it.
///
/// Start with [Log] (how to get a logger), then [RankLogger] (which lines are logged), [LogLine]
/// (the format of a line) and [ApplicationLogging] (when lines go to the application instead).
///
/// - May depend on: the JDK alone.
/// - Invariant: lines go to standard error only if the application has not configured logging.
@NullMarked
package org.horovod4j.log;

import org.jspecify.annotations.NullMarked;

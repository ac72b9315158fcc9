/// How lines of log leave the process: `HOROVOD_LOG_LEVEL` and `HOROVOD_LOG_HIDE_TIME` take effect
/// out of the box, and an application that has set up logging of its own keeps it.
///
/// Start with [Log] (how to get a logger), then [RankLogger] (what passes), [LogLine] (what a line
/// looks like) and [ApplicationLogging] (when lines go to the application instead).
///
/// - May depend on: the JDK alone.
/// - Invariant: standard error is written to only where the application has not set up logging
///   itself.
@NullMarked
package org.horovod4j.log;

import org.jspecify.annotations.NullMarked;

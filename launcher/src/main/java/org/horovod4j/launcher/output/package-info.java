/// What the processes of a job print, told apart by rank.
///
/// Start with [OutputForwarder] (one stream of one process), then [LinePrefixer] (its lines), then [LauncherConsole]
/// (where all lines meet) and [OutputFiles] (where each rank's are kept apart). Until the first
/// line comes, [StartupProgress] shows how far the start has come.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.launcher.process`.
/// - Invariant: bytes are never decoded on their way, and each line reaches the console in one
///   write.
@NullMarked
package org.horovod4j.launcher.output;

import org.jspecify.annotations.NullMarked;

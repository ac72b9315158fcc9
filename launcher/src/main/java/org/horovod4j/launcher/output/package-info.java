/// Forwards the output of the processes of a job, each line with its rank.
///
/// Start with [OutputSource] (the streams of one process), then [LinePrefixer] (its lines), then
/// [LauncherConsole] (the streams of the launcher) and [OutputFiles] (files for each rank). Until
/// the first line of output, [StartupProgress] shows the progress of the start.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.text`, `org.horovod4j.launcher.process`.
/// - Invariant: bytes are forwarded without decoding, and each line reaches the console in one
///   write.
@NullMarked
package org.horovod4j.launcher.output;

import org.jspecify.annotations.NullMarked;

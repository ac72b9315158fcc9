/// What this installation supports, for `horovodrun --check-build`.
///
/// Start with [BuildReport], then [OwnModule] and [FrameworkLibrary] (what is searched for on a
/// class path).
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.option`, `org.horovod4j.spi`, `org.horovod4j.text`,
///   `org.horovod4j.launcher.process`.
/// - Invariant: the check changes nothing. A tool that does not answer is reported as missing.
@NullMarked
package org.horovod4j.launcher.check;

import org.jspecify.annotations.NullMarked;

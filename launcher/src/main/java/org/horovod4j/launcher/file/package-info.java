/// Files that a user names.
///
/// Start with [TextFile].
///
/// - May depend on: `org.horovod4j`.
/// - Invariant: whoever cannot have a file learns why, and from where it was looked for.
@NullMarked
package org.horovod4j.launcher.file;

import org.jspecify.annotations.NullMarked;

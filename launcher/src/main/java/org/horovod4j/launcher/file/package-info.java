/// Files that a user names.
///
/// Start with [TextFile].
///
/// - May depend on: `org.horovod4j`.
/// - Invariant: an error about a file says why it cannot be read, and relative to which folder its
///   path is.
@NullMarked
package org.horovod4j.launcher.file;

import org.jspecify.annotations.NullMarked;

/// Files that other users must not read or change: [PrivatePath] checks them, [SecretFile] hands the
/// secret of a job to its processes.
///
/// - May depend on: `org.horovod4j`.
/// - Invariant: the agent on a remote host contains this package, so it stays small.
@NullMarked
package org.horovod4j.file;

import org.jspecify.annotations.NullMarked;

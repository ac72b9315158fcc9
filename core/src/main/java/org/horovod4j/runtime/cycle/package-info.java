/// Who runs operations, and when: the caller itself when nothing is queued, else thread `hvd-cycle`.
///
/// Start with [OperationQueue].
///
/// - May depend on: `org.horovod4j`.
/// - Used by: `org.horovod4j.runtime`.
/// - Invariant: operations run one at a time, in the order of submission.
@NullMarked
package org.horovod4j.runtime.cycle;

import org.jspecify.annotations.NullMarked;

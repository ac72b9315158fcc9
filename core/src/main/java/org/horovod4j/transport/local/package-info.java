/// Ranks as threads of one JVM: their shared memory is just memory, their links are pipes.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.transport`.
/// - Used by: `org.horovod4j.testing`, `org.horovod4j.runtime`.
@NullMarked
package org.horovod4j.transport.local;

import org.jspecify.annotations.NullMarked;

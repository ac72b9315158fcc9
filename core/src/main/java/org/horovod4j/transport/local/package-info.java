/// Ranks as threads of one JVM: their shared memory is just memory, their links are pipes.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.transport`.
@NullMarked
package org.horovod4j.transport.local;

import org.jspecify.annotations.NullMarked;

/// Transport between ranks that are threads of one JVM: shared memory is ordinary memory, and links
/// are in-memory pipes.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.transport`.
@NullMarked
package org.horovod4j.transport.local;

import org.jspecify.annotations.NullMarked;

/// Transport between ranks that are threads of one JVM: shared memory is ordinary memory, and links
/// are rings in memory.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.transport`.
@NullMarked
package org.horovod4j.transport.local;

import org.jspecify.annotations.NullMarked;

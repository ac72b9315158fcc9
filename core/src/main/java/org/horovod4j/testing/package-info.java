/// Several ranks in one JVM, for our tests and for users' tests: see [World].
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.collectives.kernel`, `org.horovod4j.log`,
///   `org.horovod4j.option`, `org.horovod4j.rendezvous`, `org.horovod4j.runtime`,
///   `org.horovod4j.runtime.backend`, `org.horovod4j.runtime.controller`, `org.horovod4j.runtime.device`, `org.horovod4j.spi`, `org.horovod4j.transport`,
///   `org.horovod4j.transport.local`, `org.horovod4j.transport.shm`, `org.horovod4j.transport.tcp`,
///   `org.horovod4j.security`.
@NullMarked
package org.horovod4j.testing;

import org.jspecify.annotations.NullMarked;

/// The runtime of one rank: wiring only.
///
/// Start with [HvdRuntime#start], which reads from top to bottom: [RankBootstrap] joins the other ranks
/// and fills a [RankContext], [Rank] builds what its process sets share, and
/// [ProcessSetRuntime] builds one process set. In [RankCommunicator] a user's call becomes a request.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.codec`, `org.horovod4j.collectives`,
///   `org.horovod4j.collectives.algorithm`, `org.horovod4j.collectives.kernel`, `org.horovod4j.elastic.registry`, `org.horovod4j.file`,
///   `org.horovod4j.log`, `org.horovod4j.natives`, `org.horovod4j.network`, `org.horovod4j.option`,
///   `org.horovod4j.rendezvous`, `org.horovod4j.runtime.autotune`, `org.horovod4j.runtime.backend`, `org.horovod4j.runtime.controller`,
///   `org.horovod4j.runtime.cycle`, `org.horovod4j.runtime.device`, `org.horovod4j.runtime.dispatch`,
///   `org.horovod4j.runtime.message`, `org.horovod4j.runtime.queue`, `org.horovod4j.runtime.stall`,
///   `org.horovod4j.runtime.timeline`, `org.horovod4j.sparse`, `org.horovod4j.spi`,
///   `org.horovod4j.transport`, `org.horovod4j.transport.local`, `org.horovod4j.transport.shm`,
///   `org.horovod4j.transport.tcp`, `org.horovod4j.security`, `org.horovod4j.text`, `sun.misc` (signals).
@NullMarked
package org.horovod4j.runtime;

import org.jspecify.annotations.NullMarked;

/// The connection that carries messages between the processes of a job.
///
/// Start with [Connection]. `org.horovod4j.security` opens and authenticates the socket below it,
/// `org.horovod4j.frame` delimits the messages.
///
/// - May depend on: `org.horovod4j.frame`, `org.horovod4j.log`, `org.horovod4j.security`,
///   `org.horovod4j.text`.
/// - Invariant: a peer that stops, hangs or sends malformed bytes closes its own connection within
///   the heartbeat timeout. It never blocks a sender.
@NullMarked
package org.horovod4j.connection;

import org.jspecify.annotations.NullMarked;

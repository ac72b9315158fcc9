/// Who may speak to this job: its secret, the handshake that proves it, and the doors that ask for
/// it.
///
/// Start with [Secret] and [Handshake]; [Gate] is the door that listens, [Dialler] knocks at
/// others.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.log`.
/// - Used by: `org.horovod4j.rendezvous`, `org.horovod4j.transport.tcp`.
/// - Invariant: nothing is read from a connection, beyond the handshake, before it has proved that
///   it knows the secret, and the secret itself never travels.
@NullMarked
package org.horovod4j.trust;

import org.jspecify.annotations.NullMarked;

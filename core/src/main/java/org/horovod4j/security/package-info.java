/// Who may speak to this job: its secret, the handshake that proves it, the doors that ask for it,
/// and the lines that lead through them.
///
/// Start with [Secret] and [Handshake]; [Acceptor] is the door that listens, [MultiAddressConnector] knocks at
/// others. Behind the door is a [SecureConnection]; an encrypted one is a [EncryptedConnection] of records that a
/// [RecordCipher] makes, with the keys of [TrafficSecrets].
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.log`, `org.horovod4j.option`.
/// - Invariant: nothing is read from a connection, beyond the handshake, before it has proved that
///   it knows the secret, and the secret itself never travels. No byte of an encrypted line is
///   handed over before its record has passed the check.
@NullMarked
package org.horovod4j.security;

import org.jspecify.annotations.NullMarked;

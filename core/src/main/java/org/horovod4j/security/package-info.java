/// Authenticated connections: the job's secret, the handshake that proves it, and the connections
/// that result.
///
/// Start with [Secret] and [Handshake]. [Acceptor] accepts connections, [MultiAddressConnector]
/// opens them. The result is a [SecureConnection]. An [EncryptedConnection] sends records that a
/// [RecordCipher] encrypts, with the keys of [TrafficSecrets].
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.log`, `org.horovod4j.option`.
/// - Invariant: beyond the handshake, nothing is read from a connection before the peer has proved
///   that it knows the secret. The secret itself is never sent. Bytes of an encrypted connection
///   are returned only after their record has been verified.
@NullMarked
package org.horovod4j.security;

import org.jspecify.annotations.NullMarked;

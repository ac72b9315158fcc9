/// Messages as bytes. A [Frame] is a message after its length. [FieldWriter] encodes the fields of
/// a message, [FieldReader] decodes them.
///
/// The agent on remote hosts contains this package.
///
/// - May depend on: the JDK alone.
/// - Invariant: bytes from elsewhere give a message or a [MalformedMessageException]. A length in
///   them allocates no memory before as many bytes have arrived.
@NullMarked
package org.horovod4j.frame;

import org.jspecify.annotations.NullMarked;

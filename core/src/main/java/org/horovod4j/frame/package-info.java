/// Messages as bytes, for all lines of ours that carry them: a [Frame] is a message after its
/// length, [FieldWriter] and [FieldReader] make it and take it apart.
///
/// - May depend on: the JDK alone.
/// - Invariant: bytes from elsewhere give a message or a [MalformedMessageException], and no length
///   in them costs memory before as many bytes are there.
@NullMarked
package org.horovod4j.frame;

import org.jspecify.annotations.NullMarked;

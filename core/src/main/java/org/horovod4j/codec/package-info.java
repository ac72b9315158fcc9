/// Turns small objects into bytes and back, so that ranks can hand each other more than tensors.
///
/// Start with [ObjectCodec], then [ValueTag] (the kinds of values), [ObjectEncoder] and [ObjectDecoder] (one arm for
/// each kind), [ByteWriter] and [ByteReader] (the bytes).
///
/// - May depend on: `org.horovod4j`.
/// - Invariant: bytes from elsewhere give a value or a [CodecException], and no code runs on their
///   behalf but that of records and enums this program has itself.
@NullMarked
package org.horovod4j.codec;

import org.jspecify.annotations.NullMarked;

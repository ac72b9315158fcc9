/// Encodes small objects as bytes and decodes them, so that ranks can send more than tensors.
///
/// Start with [ObjectCodec], then [ValueTag] (the kinds of values), [ObjectEncoder] and
/// [ObjectDecoder] (one case for each kind), [ByteWriter] and [ByteReader] (the bytes).
///
/// - May depend on: `org.horovod4j`.
/// - Invariant: bytes from another process give a value or a [CodecException]. They can run no code
///   except that of records and enums of this program.
@NullMarked
package org.horovod4j.codec;

import org.jspecify.annotations.NullMarked;

/// Ways to send less than a whole tensor: floats of two bytes, or only the largest values.
///
/// Start with [Compression], whose [CastAllreduce] is a dense allreduce of smaller numbers, then
/// [TopK], which gathers a few values and keeps the rest for later steps in [ErrorFeedback], or on a device in [DeviceTopK]. Programs
/// implement [org.horovod4j.Compressor] for their own.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.collectives.kernel`, `org.horovod4j.sparse`,
///   `org.horovod4j.spi`.
/// - Invariant: a tensor keeps its type and its memory, and only floats are compressed.
@NullMarked
package org.horovod4j.compression;

import org.jspecify.annotations.NullMarked;
